package main

import (
	"os"
	"os/signal"
	"syscall"
)

// stopSystemd is SIGRTMIN+3, the stop signal of images that run systemd.
const stopSystemd = syscall.Signal(37)

// listen returns the signals that somebody may send to the command: Kubernetes
// sends SIGTERM or the image's STOPSIGNAL, people send what the command reads.
//
// Not all 64 of them: each costs a round trip between two threads of Go's
// runtime, and together they cost 1 ms of CPU per step, a quarter of all that
// running under this program does.
func listen() <-chan os.Signal {
	in := make(chan os.Signal, 16)
	signal.Notify(in, syscall.SIGTERM, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP,
		syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT, stopSystemd)
	// A log that is gone must not end the program before it has told the next
	// step. Ignoring the signal would do too, but the command would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return in
}

// ends says whether a signal's default action would end a process (signal(7)).
func ends(sig syscall.Signal) bool {
	return sig != syscall.SIGWINCH && sig != syscall.SIGCONT
}

// forward passes a signal on to the command's process group.
func forward(pid int, sig syscall.Signal) {
	_ = syscall.Kill(-pid, sig) // fails when the group is gone: its end is on its way here
}

// number is what a signal is on Linux.
func number(sig os.Signal) syscall.Signal {
	n, _ := sig.(syscall.Signal)
	return n
}
