package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// All containers of a pod start at once, in whatever order. The steps do not.
func TestStepsTakeTurns(t *testing.T) {
	p := newPod(t)
	clone := p.sh("echo clone >> log")
	build := p.sh("echo build >> log")
	test := p.sh("echo test >> log")

	// Not even the directories exist in which they look for each other.
	test.start()
	build.start()
	time.Sleep(20 * time.Millisecond)
	equal(t, "what has run before the first step", p.read("workspace", "log"), "<none>")
	clone.start()

	for _, c := range p.steps {
		equal(t, c.name, c.exit(), 0)
		equal(t, c.name+" posted", c.posted(), "out")
		equal(t, c.name+" exit code", c.exitCode(), "0")
		c.tells()
	}
	equal(t, "log", p.read("workspace", "log"), "clone\nbuild\ntest\n")
}

// inotify must be what ends the wait: without it the next look would be five
// seconds away.
func TestTheNextStepStartsAtOnce(t *testing.T) {
	if !inotifyWorks() {
		t.Skip("no inotify instance to be had on this machine now")
	}
	soon(t, func(p *pod) (*container, time.Time) {
		p.sh("true")
		second := p.sh("true").start()
		second.waits()
		p.steps[0].wants(0)
		equal(t, "second step", second.exit(), 0)
		return second, p.steps[0].postedAt()
	})
}

func inotifyWorks() bool {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		return false
	}
	return syscall.Close(fd) == nil
}

// A full node gives out no inotify instances. Steps take turns there too.
func TestWithoutInotifyItLooksAgain(t *testing.T) {
	const none = "echo 0 > /proc/sys/user/max_inotify_instances && "
	if out, err := exec.Command("unshare", "-Ur", "sh", "-c", none+"true").CombinedOutput(); err != nil {
		t.Skipf("no user namespaces here: %s", out)
	}
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Fatal(err)
	}
	soon(t, func(p *pod) (*container, time.Time) {
		p.sh("true")
		second := p.sh("true")
		second.Path, second.Args = unshare, append([]string{"unshare", "-Ur", "sh", "-c", none + `exec "$0" "$@"`}, second.Args...)
		second.start()
		time.Sleep(100 * time.Millisecond) // so that it waits
		p.steps[0].wants(0)
		equal(t, "second step", second.exit(), 0)
		return second, p.steps[0].postedAt()
	})
}

// Steps may run as different users: what root's step leaves, another's can read.
func TestStepsOfDifferentUsers(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run steps as somebody else")
	}
	p := newPod(t)
	users := []uint32{0, 1000, 2000, 0}
	for i, uid := range users {
		// Each reads the exit code of the one before.
		line := "id -u >> " + p.path("workspace", fmt.Sprint("by-", i))
		if i > 0 {
			line += fmt.Sprintf(" && cat %s", p.path("steps", fmt.Sprint("step-", i-1), "exitCode"))
		}
		c := p.sh(line)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	for i := range users {
		p.steps[len(users)-1-i].start()
	}
	for i, c := range p.steps {
		if status := c.exit(); status != 0 {
			t.Errorf("step of user %d: exit status %d: %s", users[i], status, c.stderr)
		}
		equal(t, "user", strings.TrimSpace(p.read("workspace", fmt.Sprint("by-", i))), fmt.Sprint(users[i]))
	}
}

func TestAllWaitFilesAreNeeded(t *testing.T) {
	p := newPod(t)
	c := p.sh("echo ran > ran", "-wait_file", p.path("a", "b", "one")+","+p.path("two")).start()
	p.must(os.WriteFile(p.path("two"), nil, 0o644))
	time.Sleep(30 * time.Millisecond)
	equal(t, "ran with one file of two", p.read("workspace", "ran"), "<none>")
	p.must(os.MkdirAll(p.path("a", "b"), 0o755))
	p.must(os.WriteFile(p.path("a", "b", "one"), nil, 0o644))
	equal(t, "exit status", c.exit(), 0)
}

// The downward API shows a file through links that it swaps by renaming.
func TestWaitForContentOfADownwardFile(t *testing.T) {
	soon(t, func(p *pod) (*container, time.Time) {
		p.must(os.MkdirAll(p.path("downward", "..v1"), 0o755))
		p.must(os.WriteFile(p.path("downward", "..v1", "ready"), nil, 0o644))
		p.must(os.Symlink("..v1", p.path("downward", "..data")))
		p.must(os.Symlink("..data/ready", p.path("downward", "ready")))

		c := p.sh("echo ran > ran", "-wait_file", p.path("downward", "ready"), "-wait_file_content").start()
		c.waits()
		equal(t, "ran before there was content", p.read("workspace", "ran"), "<none>")

		p.must(os.MkdirAll(p.path("downward", "..v2"), 0o755))
		p.must(os.WriteFile(p.path("downward", "..v2", "ready"), []byte("READY"), 0o644))
		p.must(os.Symlink("..v2", p.path("downward", "..new")))
		swapped := time.Now()
		p.must(os.Rename(p.path("downward", "..new"), p.path("downward", "..data")))
		equal(t, "exit status", c.exit(), 0)
		return c, swapped
	})
}

// The pod is deleted while a step still waits: kubelet sends SIGTERM to all.
func TestASignalEndsTheWait(t *testing.T) {
	p := newPod(t)
	p.sh("true")
	second := p.sh("echo ran > ran").start()
	second.waits()
	p.must(second.Process.Signal(syscall.SIGWINCH)) // means nothing to a process
	time.Sleep(20 * time.Millisecond)
	p.must(second.Process.Signal(syscall.SIGTERM))
	equal(t, "exit status", second.exit(), exitSignalled+int(syscall.SIGTERM))
	second.tells("3/Reason", "Skipped").says("terminated")
	equal(t, "posted", second.posted(), "out.err")
	equal(t, "ran", p.read("workspace", "ran"), "<none>")
}
