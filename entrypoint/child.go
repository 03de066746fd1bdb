package main

import (
	"fmt"
	"os"
	"syscall"
	"time"
)

// execute runs the command at path to its end, in a process group of its own.
//
// It does without os/exec: that waits for its one process, while process 1 of a
// container has to wait for whatever ends, and two waiters would take each
// other's children.
func (s step) execute(path string, signals <-chan os.Signal) (ending, error) {
	out, err := openStreams(s.stdoutPath, s.stderrPath)
	if err != nil {
		return ending{}, err
	}
	pid, err := syscall.ForkExec(path, s.command, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: out.child(),
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	out.started()
	if err != nil {
		return ending{}, explain(path, err) // the copies end with this process
	}
	end := s.attend(pid, signals)
	if err := out.finish(); err != nil {
		return ending{}, err
	}
	return end, nil
}

// attend forwards signals and keeps the time until the command has ended.
func (s step) attend(pid int, signals <-chan os.Signal) ending {
	exited := make(chan syscall.WaitStatus, 1)
	go func() { exited <- reap(pid) }()

	var timeout <-chan time.Time
	if s.timeout > 0 {
		timer := time.NewTimer(s.timeout)
		defer timer.Stop()
		timeout = timer.C
	}
	timedOut := false
	for {
		select {
		case sig := <-signals:
			forward(pid, number(sig))
		case <-timeout:
			timedOut = true
			complainf("%s ran longer than its timeout of %v, killing it", s.command[0], s.timeout)
			forward(pid, syscall.SIGKILL)
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have gone to another group
		case status := <-exited:
			if timedOut {
				return ending{ran: true, code: exitFailed, reason: reasonTimeoutExceeded}
			}
			return ending{ran: true, code: exitCode(status)}
		}
	}
}

// reap waits until pid has ended. Everything else that ends meanwhile is an
// orphan of the container, and is taken off the process table on the way.
func reap(pid int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no such child: there is one waiter, and it is here
			panic(fmt.Sprintf("waiting for process %d: %v", pid, err))
		case got == pid:
			return status
		}
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return exitSignalled + int(status.Signal())
	}
	return status.ExitStatus()
}
