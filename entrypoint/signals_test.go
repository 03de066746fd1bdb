package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The command and what it has started both hear the signal; the command decides
// how it ends. (SIGINT and SIGQUIT are forwarded alike, but a shell makes what it
// starts in the background deaf to them.)
func TestSignalsReachTheProcessGroup(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		t.Run(sig.String(), func(t *testing.T) {
			p := newPod(t)
			n := strconv.Itoa(int(sig))
			c := p.sh(`
				sh -c 'trap "echo > child-heard; exit 0" ` + n + `; echo > child-ready; while :; do sleep 0.05; done' &
				trap "echo > heard; wait; exit 9" ` + n + `
				while [ ! -e child-ready ]; do sleep 0.01; done
				echo > ready
				while :; do sleep 0.05; done`).start()
			p.appears("workspace", "ready")
			p.must(c.Process.Signal(sig))
			equal(t, "exit status", c.exit(), 9)
			equal(t, "command", p.read("workspace", "heard"), "\n")
			equal(t, "its child", p.read("workspace", "child-heard"), "\n")
			equal(t, "posted", c.posted(), "out.err")
		})
	}
}

// SIGURG is how Go's scheduler talks to itself, SIGPIPE is about this program's
// own output: neither is for the command, nor the end of this program.
func TestOwnSignalsAreNotForwarded(t *testing.T) {
	p := newPod(t)
	c := p.sh(`trap "echo > heard" URG PIPE; trap "exit 9" TERM; echo > ready; while :; do sleep 0.02; done`).start()
	p.appears("workspace", "ready")
	p.must(c.Process.Signal(syscall.SIGURG))
	p.must(c.Process.Signal(syscall.SIGPIPE))
	time.Sleep(100 * time.Millisecond) // for the command to hear what it must not
	p.must(c.Process.Signal(syscall.SIGTERM))
	equal(t, "exit status", c.exit(), 9)
	equal(t, "heard", p.read("workspace", "heard"), "<none>")
}

func TestACommandThatASignalEnds(t *testing.T) {
	p := newPod(t)
	c := p.sh("echo > ready; sleep 60").start()
	p.appears("workspace", "ready")
	p.must(c.Process.Signal(syscall.SIGTERM))
	equal(t, "exit status", c.exit(), exitSignalled+int(syscall.SIGTERM))
	c.tells()
}

// As process 1 it is handed every orphan of the container. None stays a zombie,
// none is taken for the command.
func TestProcessOneReapsOrphans(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can make a pid namespace")
	}
	p := newPod(t)
	c := p.sh(`
		i=0
		while [ $i -lt 50 ]; do
			i=$((i+1))
			sh -c 'sh -c "exit 5" & exit 0'
		done
		sh -c 'sleep 0.05; echo > last' &
		echo > made
		while [ ! -e go ]; do sleep 0.01; done
		exit 23`)
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID}
	c.start()
	p.appears("workspace", "made")
	pid := strconv.Itoa(c.Process.Pid)
	p.until("one child is left, the command", func() bool { return len(childrenOf(t, pid)) == 1 })
	p.must(os.WriteFile(p.path("workspace", "go"), nil, 0o644))
	equal(t, "exit status", c.exit(), 23)
}

// What the command leaves behind does not keep the step from ending, not even
// with the step's output in its hands.
func TestABackgroundProcessDoesNotHoldTheStep(t *testing.T) {
	p := newPod(t)
	c := p.sh("setsid sleep 300 & echo $! > sleeper; echo done", "-stdout_path", p.path("results", "out"))
	c.Stdout, c.Stderr = nil, nil // else this test would wait for the sleeper
	c.wants(0)                    // long before the sleeper's end
	equal(t, "copy of the output", p.read("results", "out"), "done\n")
	if pid, err := strconv.Atoi(strings.TrimSpace(p.read("workspace", "sleeper"))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// Nor does one that prints faster than the log takes it: the pipe is full again
// whenever it has been read.
func TestABackgroundProcessThatPrintsDoesNotHoldTheStep(t *testing.T) {
	p := newPod(t)
	c := p.sh("yes & sleep 0.3; echo done", "-stdout_path", p.path("results", "out"))
	c.Stdout, c.Stderr = slow{}, nil
	c.wants(0) // though yes never ends, until nobody reads what it prints
}

// slow is a log that takes its time.
type slow struct{}

func (slow) Write(p []byte) (int, error) {
	time.Sleep(20 * time.Millisecond)
	return len(p), nil
}

func childrenOf(t *testing.T, parent string) []string {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	var children []string
	for _, process := range all {
		if pid := filepath.Base(process); processStat(pid).parent == parent {
			children = append(children, pid)
		}
	}
	return children
}

type stat struct{ state, parent string }

// processStat reads the line of /proc in which the name, in brackets, may hold
// anything.
func processStat(pid string) stat {
	line, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(pid), "stat"))
	if err != nil {
		return stat{}
	}
	fields := strings.Fields(string(line[bytes.LastIndexByte(line, ')')+1:]))
	return stat{state: fields[0], parent: fields[1]}
}
