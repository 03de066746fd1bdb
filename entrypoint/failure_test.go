package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A step fails: those after it never start, and say why.
func TestAFailureSkipsTheRest(t *testing.T) {
	p := newPod(t)
	build := p.sh("exit 3")
	test := p.sh("echo test >> log")
	publish := p.sh("echo publish >> log")
	publish.start()
	test.start()

	build.wants(3).tells()
	equal(t, "build posted", build.posted(), "out.err")
	equal(t, "build's exit code", build.exitCode(), "3")
	for _, c := range []*container{test, publish} {
		equal(t, c.name, c.exit(), exitFailed)
		equal(t, c.name+" posted", c.posted(), "out.err")
		equal(t, c.name+" exit code", c.exitCode(), "<none>")
		c.tells("3/Reason", "Skipped").says("an earlier step failed")
	}
	equal(t, "log", p.read("workspace", "log"), "<none>")
}

// onError: continue. The next step runs and can see how this one ended.
func TestOnErrorContinue(t *testing.T) {
	p := newPod(t)
	lint := p.sh("exit 7", "-on_error", "continue")
	test := p.sh("cat " + p.path("steps", lint.name, "exitCode"))

	lint.wants(0).tells("3/ExitCode", "7")
	equal(t, "lint posted", lint.posted(), "out")
	equal(t, "lint's exit code", lint.exitCode(), "7")
	test.wants(0)
	equal(t, "what the next step saw", test.stdout.String(), "7")
}

func TestOnErrorContinueOfASuccessSaysNothing(t *testing.T) {
	p := newPod(t)
	p.sh("true", "-on_error", "continue").wants(0).tells()
}

// A command that does not even start is a broken step, not a failed check.
func TestOnErrorContinueNeedsACommandThatRan(t *testing.T) {
	p := newPod(t)
	c := p.step([]string{"-on_error", "continue"}, "no-such-command").wants(exitNotFound).tells()
	equal(t, "posted", c.posted(), "out.err")
}

// The whole process group dies, whatever it does about signals. A result that
// was written in time counts.
func TestTimeout(t *testing.T) {
	for timeout := time.Second; ; timeout *= 2 {
		p := newPod(t)
		c := p.sh(`trap "" TERM; printf early > `+p.path("results", "r")+`; sleep 600 & echo $! > sleeper; wait`, "-timeout", timeout.String(), "-results", "r")
		started := time.Now()
		c.wants(exitFailed) // which is not waited for until the sleeper's end
		if took := time.Since(started); took < timeout {
			t.Errorf("took %v of %v", took, timeout)
		}
		c.says("timeout of " + timeout.String())
		equal(t, "posted", c.posted(), "out.err")
		sleeper := strings.TrimSpace(p.read("workspace", "sleeper"))
		if _, err := strconv.Atoi(sleeper); err != nil {
			continue // in that time the command has not come so far, on this machine
		}
		c.tells("3/Reason", "TimeoutExceeded", "1/r", "early")
		p.until("the background process is dead", func() bool { return !alive(sleeper) })
		return
	}
}

func TestTimeoutIsNotToBeContinuedAfter(t *testing.T) {
	p := newPod(t)
	c := p.sh("sleep 60", "-timeout", "50ms", "-on_error", "continue")
	c.wants(exitFailed).tells("3/Reason", "TimeoutExceeded")
	equal(t, "posted", c.posted(), "out.err")
}

// The second step waits longer than it may run.
func TestTimeoutDoesNotCountTheWait(t *testing.T) {
	status := exitFailed
	for timeout := time.Second; status != 0 && timeout < 30*time.Second; timeout *= 2 { // a second may be little on this machine
		p := newPod(t)
		p.sh(fmt.Sprintf("sleep %v", 2*timeout.Seconds()))
		second := p.sh("true", "-timeout", timeout.String()).start()
		second.waits()
		p.steps[0].wants(0)
		status = second.exit()
	}
	equal(t, "second step", status, 0)
}

// Wrong flags are a mistake in the controller. The steps after it must not wait
// for an hour because of that.
func TestWrongFlags(t *testing.T) {
	for name, flags := range map[string][]string{
		"-colour":                         {"-colour", "blue"},
		"must be continue or stopAndFail": {"-on_error", "panic"},
		"must not be negative":            {"-timeout", "-1s"},
		"-timeout":                        {"-timeout", "soon"},
		"come together":                   {"-script", "#!/bin/sh"},
		"must be a file name":             {"-results", "../../etc/passwd"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			c := p.sh("echo ran > ran", flags...).wants(exitUsage).says(name).tells()
			equal(t, "posted", c.posted(), "out.err")
			equal(t, "ran", p.read("workspace", "ran"), "<none>")
		})
	}
}

func TestNothingToRun(t *testing.T) {
	p := newPod(t)
	p.step(nil, "").wants(exitUsage).says("-entrypoint is missing")
}

// alive says whether a process is there and not a zombie.
func alive(pid string) bool {
	stat := processStat(pid)
	return stat.state != "" && stat.state != "Z" && stat.state != "X"
}

// An earlier step has put something in the way of this one's post file.
func TestAPostFileThatCannotBeWritten(t *testing.T) {
	p := newPod(t)
	elsewhere := p.path("elsewhere")
	p.must(os.Mkdir(elsewhere, 0o777))
	p.must(os.Symlink(elsewhere, p.path("run", "0")))
	p.sh("true").wants(exitFailed).says("telling the next step", "link").tells("3/Reason", reasonNextStepNotTold)
	left, err := os.ReadDir(elsewhere)
	p.must(err)
	equal(t, "files written through the link", len(left), 0)
}

// Where the next step can still be told of a failure, it is, and need not be ended.
func TestAPostFileThatSomethingIsInTheWayOf(t *testing.T) {
	p := newPod(t)
	p.must(os.Mkdir(p.path("run", "0"), 0o777))
	p.must(os.Symlink("elsewhere", p.path("run", "0", "out")))
	p.sh("true").wants(exitFailed).says("telling the next step", "link").tells()
	p.sh("true").wants(exitFailed).tells("3/Reason", reasonSkipped)
}

// The same, with the directory in order and a link in it.
func TestAPostFileThatIsALink(t *testing.T) {
	for _, link := range []string{"run/1/out", "steps/step-1/exitCode"} {
		t.Run(link, func(t *testing.T) {
			p := newPod(t)
			p.must(os.WriteFile(p.path("precious"), []byte("precious"), 0o644))
			p.sh("mkdir -p " + filepath.Dir(p.path(link)) + "; ln -s " + p.path("precious") + " " + p.path(link)).wants(0)
			p.sh("true").wants(exitFailed).says(link)
			equal(t, "what the link names", p.read("precious"), "precious")
		})
	}
}

func TestALaterStepSeesNoPostFileBeforeTheRestIsThere(t *testing.T) {
	p := newPod(t)
	first := p.sh("exit 4", "-on_error", "continue")
	second := p.sh("cat " + first.message + " " + p.path("steps", first.name, "exitCode") + " > seen").start()
	first.wants(0)
	equal(t, "second step", second.exit(), 0)
	message, err := os.ReadFile(first.message)
	p.must(err)
	equal(t, "what the second step saw", p.read("workspace", "seen"), string(message)+"4")
}
