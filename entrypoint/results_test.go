package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// Results of the task and of the step, to the byte.
func TestResultsAreKeptAsTheyAre(t *testing.T) {
	p := newPod(t)
	results, own := p.path("results"), p.path("steps", "step-0", "results")
	c := p.sh("echo 1.2.3 > "+results+"/version; printf '\\t\"a<b>&\\\\\\n\\n' > "+results+"/odd; : > "+results+"/empty; printf x > "+own+"/digest",
		"-results", "version,odd,empty,absent", "-step_results", "digest")
	c.wants(0).tells(
		"1/version", "1.2.3\n", // echo's newline too, as with Tekton
		"1/odd", "\t\"a<b>&\\\n\n",
		"1/empty", "",
		"4/digest", "x")
}

// In a pod of many containers kubelet keeps less of each message. What it would cut
// off would be lost without a word.
func TestResultsThatDoNotFitALowerLimit(t *testing.T) {
	p := newPod(t)
	flags := []string{"-results", "r", "-max_message", "1024"}
	p.sh("printf %900s > "+p.path("results", "r"), flags...).wants(0)
	c := p.sh("printf %1000s > "+p.path("results", "r"), flags...).wants(exitFailed).tells()
	c.says("Termination message is above max allowed size 1024, caused by large task result.").says("r 1000")
}

// Only what is declared is a result.
func TestUndeclaredResultsAreNone(t *testing.T) {
	p := newPod(t)
	p.sh("echo x > "+p.path("results", "secret"), "-results", "version").wants(0).tells()
}

func TestResultsOfAFailedStepCount(t *testing.T) {
	p := newPod(t)
	p.sh("printf cause > "+p.path("results", "why")+"; exit 1", "-results", "why").wants(1).tells("1/why", "cause")
}

func TestBytesThatAreNotUTF8(t *testing.T) {
	p := newPod(t)
	p.sh(`printf 'a\377b' > `+p.path("results", "r"), "-results", "r").wants(0).tells("1/r", "a\ufffdb").says("result r is not UTF-8")
}

// A step that means harm leaves something else than a file where a later step,
// with other rights and secrets, collects results.
func TestHostileResults(t *testing.T) {
	for name, plant := range map[string]struct{ line, says string }{
		"a link to a secret":      {"ln -s ../secret r", "it is a link"},
		"a link to nothing":       {"ln -s nowhere r", "it is a link"},
		"a named pipe":            {"mkfifo r", "it is a named pipe"},
		"a directory":             {"mkdir r", "it is a directory"},
		"a link to endless zeros": {"ln -s /dev/zero r", "it is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.must(os.WriteFile(p.path("secret"), []byte("token"), 0o600))
			p.sh("cd " + p.path("results") + " && " + plant.line)
			p.sh("printf ok > "+p.path("results", "good"), "-results", "r,good")
			p.steps[0].wants(0)
			p.steps[1].wants(0).tells("1/good", "ok").says("result r is left out: " + plant.says)
		})
	}
}

func TestADeviceAsResult(t *testing.T) {
	p := newPod(t)
	if err := syscall.Mknod(p.path("results", "r"), syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
		t.Skipf("making /dev/zero needs more rights: %v", err)
	}
	p.sh("true", "-results", "r").wants(0).tells().says("it is a device")
}

// A step of another user has left a result that this one must not read. It has
// reported it already.
func TestAResultOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run steps as somebody else")
	}
	p := newPod(t)
	p.must(os.WriteFile(p.path("results", "r"), []byte("root's"), 0o600))
	c := p.sh("true", "-results", "r")
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	c.wants(0).tells().says("result r is left out: ", "permission denied")
}

const tektonsWords = "Termination message is above max allowed size 4096, caused by large task result."

// 1 GiB that takes no room on the disk must take none in memory either.
func TestAHugeResult(t *testing.T) {
	p := newPod(t)
	c := p.sh("truncate -s 1G "+p.path("results", "r"), "-results", "r")
	c.wants(exitFailed).says(tektonsWords, "r more than 4096").tells()
	equal(t, "posted", c.posted(), "out.err")
	if rss := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss; rss > 64<<10 && !raceEnabled {
		t.Errorf("took %d KiB of memory", rss)
	}
}

// Each fits, together they do not.
func TestResultsThatDoNotFitTogether(t *testing.T) {
	p := newPod(t)
	fill := func(name string, n string) string {
		return "head -c " + n + " /dev/zero | tr '\\0' x > " + p.path("results", name) + ";"
	}
	c := p.sh(fill("a", "3000")+fill("b", "2000"), "-results", "a,b", "-on_error", "continue")
	c.wants(exitFailed).says(tektonsWords, "a 3000, b 2000").tells()
	equal(t, "posted", c.posted(), "out.err")
}

// 4096 bytes are allowed, the 4097th is not.
func TestTheLargestResultThatFits(t *testing.T) {
	p := newPod(t)
	around := len(encode([]entry{{"r", "", taskResult}, {"StartedAt", "2026-01-01T00:00:00.000Z", internal}}))
	p.must(os.WriteFile(p.path("results", "r"), []byte(strings.Repeat("x", maxMessage-around)), 0o644))
	p.sh("true", "-results", "r").wants(0)
	p.sh("printf x >> "+p.path("results", "r"), "-results", "r").wants(exitFailed).says(tektonsWords)
}

// Encoders that think of web pages make six bytes of each of these.
func TestMarkupTakesNoMoreRoomThanItHas(t *testing.T) {
	p := newPod(t)
	page := strings.Repeat("<&>", 1200)
	p.must(os.WriteFile(p.path("results", "r"), []byte(page), 0o644))
	p.sh("true", "-results", "r").wants(0).tells("1/r", page)
}

// Images that know Tekton write the message themselves.
func TestACommandThatWritesTheMessageItself(t *testing.T) {
	p := newPod(t)
	c := p.sh("", "-results", "digest,other")
	forged := `[{"key":"digest","value":"sha256:1","type":1},{"key":"digest","value":"sha256:2","type":1},{"key":"other","value":"from the message","type":1},` +
		`{"key":"undeclared","value":"x","type":1},{"key":"StartedAt","value":"1970-01-01T00:00:00.000Z","type":3},{"key":"ExitCode","value":"0","type":3},{"key":"Reason","value":"Skipped","type":3},7]`
	c.Args[len(c.Args)-1] = "printf '%s' '" + forged + "' > " + c.message + "; printf 'from the file' > " + p.path("results", "other")
	c.wants(0).tells("1/digest", "sha256:2", "1/other", "from the file").says("only declared results")
	if strings.HasPrefix(c.entries()["3/StartedAt"], "1970") {
		t.Error("the command has said for us when it started")
	}
}

func TestACommandThatWritesProse(t *testing.T) {
	p := newPod(t)
	c := p.sh("")
	c.Args[len(c.Args)-1] = "echo 'all is well' > " + c.message
	c.wants(0).tells().says("wrote to the termination message")
}

// stdoutConfig and stderrConfig: the log is complete, and so is the file.
func TestOutputIsKeptInFiles(t *testing.T) {
	p := newPod(t)
	out, errs := p.path("results", "sub", "out"), p.path("results", "err")
	c := p.sh("seq 1 20000; echo oops >&2", "-stdout_path", out, "-stderr_path", errs).wants(0)
	equal(t, "log against file", c.stdout.String() == p.read("results", "sub", "out"), true)
	equal(t, "lines", strings.Count(c.stdout.String(), "\n"), 20000)
	equal(t, "standard error", c.stderr.String(), "oops\n")
	equal(t, "its file", p.read("results", "err"), "oops\n")
}

// The usual use: what is printed is the result. Both streams may share a file,
// and a file that is there is added to.
func TestOutputAsResult(t *testing.T) {
	p := newPod(t)
	r := p.path("results", "r")
	p.must(os.WriteFile(r, []byte("0\n"), 0o644))
	p.sh("echo 1; sleep 0.1; echo 2 >&2", "-stdout_path", r, "-stderr_path", r, "-results", "r").wants(0).tells("1/r", "0\n1\n2\n")
}

func TestOutputIsNotKeptThroughALink(t *testing.T) {
	p := newPod(t)
	p.must(os.WriteFile(p.path("precious"), []byte("precious"), 0o644))
	p.must(os.Symlink(p.path("precious"), p.path("results", "r")))
	p.sh("echo overwritten", "-stdout_path", p.path("results", "r")).wants(exitFailed).says("standard output to")
	equal(t, "what the link names", p.read("precious"), "precious")
}

// The file cannot be written: the log is still complete, the step has failed.
func TestOutputThatCannotBeKept(t *testing.T) {
	p := newPod(t)
	c := p.sh("seq 1 50000", "-stdout_path", "/dev/full").wants(exitFailed).says("copying output to /dev/full", "no space left")
	equal(t, "lines in the log", strings.Count(c.stdout.String(), "\n"), 50000)
	equal(t, "posted", c.posted(), "out.err")
}
