package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain builds the program: the tests run it as pods do, as a process.
func TestMain(m *testing.M) { os.Exit(buildAndRun(m)) }

func buildAndRun(m *testing.M) int {
	if _, err := sources.ReadDir("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	dir, err := os.MkdirTemp("", "entrypoint")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.Chmod(dir, 0o755); err != nil { // some steps run as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "entrypoint")
	args := []string{"build", "-o", program}
	if raceEnabled {
		args = append(args, "-race") // the tests' detector does not see into a subprocess
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	build := exec.Command("go", append(args, ".")...)
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the program:", err)
		return 1
	}
	return m.Run()
}

// sources are in the test binary so that a change of the program changes it: go
// test would show the cached result of the program as it was.
//
//go:embed *.go
var sources embed.FS

// program is the path of the built program, set once by TestMain.
var program string

// pod is what the containers of one pod share.
type pod struct {
	t     testing.TB
	dir   string
	steps []*container
}

func newPod(tb testing.TB) *pod {
	tb.Helper()
	p := &pod{t: tb, dir: tb.TempDir()}
	p.must(os.Chmod(filepath.Dir(p.dir), 0o755)) // for steps of other users
	for _, volume := range []string{"run", "steps", "results", "scripts", "workspace"} {
		p.must(os.Mkdir(p.path(volume), 0o777))
		p.must(os.Chmod(p.path(volume), 0o777)) // as kubelet makes an emptyDir
	}
	return p
}

func (p *pod) path(elements ...string) string {
	return filepath.Join(append([]string{p.dir}, elements...)...)
}

func (p *pod) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// container is one step: index and flags as the controller gives them.
type container struct {
	*exec.Cmd
	pod            *pod
	name           string
	index          int
	message        string // path of the termination message
	stdout, stderr *bytes.Buffer
}

// step adds a step to the pod. It is not started. Flags go before those that
// every step has; the command runs in the workspace.
func (p *pod) step(flags []string, command ...string) *container {
	p.t.Helper()
	i := len(p.steps)
	name := fmt.Sprintf("step-%d", i)
	c := &container{pod: p, name: name, index: i, message: p.path("termination-" + name), stdout: new(bytes.Buffer), stderr: new(bytes.Buffer)}
	p.must(os.WriteFile(c.message, nil, 0o666))
	p.must(os.Chmod(c.message, 0o666)) // as kubelet makes it

	args := []string{}
	if i > 0 {
		args = append(args, "-wait_file", p.path("run", fmt.Sprint(i-1), "out"))
	}
	args = append(args,
		"-post_file", p.path("run", fmt.Sprint(i), "out"),
		"-termination_path", c.message,
		"-step_metadata_dir", p.path("steps", name),
		"-results_dir", p.path("results"))
	args = append(args, flags...)
	args = append(args, "-entrypoint", command[0], "--")
	c.Cmd = exec.Command(program, append(args, command[1:]...)...)
	c.Dir = p.path("workspace")
	c.WaitDelay = 10 * time.Second // for what a failed test leaves behind
	c.Stdout, c.Stderr = c.stdout, c.stderr
	p.steps = append(p.steps, c)
	return c
}

// sh adds a step that runs a line of shell.
func (p *pod) sh(line string, flags ...string) *container {
	p.t.Helper()
	return p.step(flags, "/bin/sh", "-c", line)
}

func (c *container) start() *container {
	c.pod.t.Helper()
	c.pod.must(c.Start())
	c.pod.t.Cleanup(func() {
		if c.ProcessState == nil { // a failed test left it running
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c
}

// exit waits for the step and returns its exit status.
func (c *container) exit() int {
	c.pod.t.Helper()
	overdue := time.AfterFunc(time.Minute, func() { _ = c.Process.Signal(syscall.SIGQUIT) })
	defer overdue.Stop()
	err := c.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		c.pod.t.Fatal(err)
	}
	if strings.Contains(c.stderr.String(), "DATA RACE") {
		c.pod.t.Errorf("%s: %s", c.name, c.stderr)
	}
	return c.ProcessState.ExitCode()
}

// waits returns when the step waits for those before it, and hears signals: it has what
// tells it of files.
func (c *container) waits() {
	c.pod.t.Helper()
	if !inotifyWorks() {
		time.Sleep(time.Second) // nothing shows that it has begun to look now and then
		return
	}
	c.pod.until(c.name+" waits", func() bool {
		open, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", c.Process.Pid))
		c.pod.must(err)
		return slices.ContainsFunc(open, func(fd string) bool {
			to, err := os.Readlink(fd)
			return err == nil && to == "anon_inode:inotify"
		})
	})
}

func (c *container) run() int {
	c.pod.t.Helper()
	return c.start().exit()
}

// wants runs the step and checks its exit status.
func (c *container) wants(status int) *container {
	c.pod.t.Helper()
	if got := c.run(); got != status {
		c.pod.t.Fatalf("%s exited with %d, want %d\nstdout: %s\nstderr: %s", c.name, got, status, c.stdout, c.stderr)
	}
	return c
}

// says checks that the step's log tells a person something.
func (c *container) says(parts ...string) *container {
	c.pod.t.Helper()
	for _, part := range parts {
		if !strings.Contains(c.stderr.String(), part) {
			c.pod.t.Errorf("%s should say %q on standard error, which has:\n%s", c.name, part, c.stderr)
		}
	}
	return c
}

// entries reads the termination message as Tekton's controller does: the last
// entry of a key wins.
func (c *container) entries() map[string]string {
	c.pod.t.Helper()
	raw, err := os.ReadFile(c.message)
	c.pod.must(err)
	if len(raw) > maxMessage {
		c.pod.t.Errorf("%s: termination message of %d bytes", c.name, len(raw))
	}
	var all []entry
	if err := json.Unmarshal(raw, &all); err != nil {
		c.pod.t.Fatalf("%s: termination message %q: %v", c.name, raw, err)
	}
	byKey := map[string]string{}
	for _, e := range all {
		byKey[fmt.Sprintf("%d/%s", e.Type, e.Key)] = e.Value
	}
	return byKey
}

// tells checks entries of the termination message, given as "type/key", value
// pairs, and that there is nothing else but StartedAt.
func (c *container) tells(pairs ...string) *container {
	c.pod.t.Helper()
	got := c.entries()
	if _, err := time.Parse("2006-01-02T15:04:05.000Z07:00", got["3/StartedAt"]); err != nil {
		c.pod.t.Errorf("%s: StartedAt: %v", c.name, err)
	}
	delete(got, "3/StartedAt")
	for i := 0; i < len(pairs); i += 2 {
		if value, ok := got[pairs[i]]; !ok || value != pairs[i+1] {
			c.pod.t.Errorf("%s: entry %s is %q (there: %v), want %q", c.name, pairs[i], value, ok, pairs[i+1])
		}
		delete(got, pairs[i])
	}
	for key, value := range got {
		c.pod.t.Errorf("%s: entry %s, %q, should not be there", c.name, key, value)
	}
	return c
}

// soon plays a story in which news ends the wait of a step, and not a look in doubt. It
// goes by what the step says: how long processes take to begin and to end is the machine's
// affair. One that stands still for a while makes a try late, and no news make all late.
func soon(t *testing.T, story func(p *pod) (waited *container, news time.Time)) {
	t.Helper()
	var late []time.Duration
	for range 5 {
		waited, news := story(newPod(t))
		took := waited.startedAt().Sub(news)
		if took <= doubtInterval/2 {
			return
		}
		late = append(late, took)
	}
	t.Errorf("each time it has started long after it could: %v", late)
}

// startedAt is when the step says that it has started.
func (c *container) startedAt() time.Time {
	c.pod.t.Helper()
	started, err := time.Parse(time.RFC3339, c.entries()["3/StartedAt"])
	c.pod.must(err)
	return started
}

// postedAt is when the step told the next one to start.
func (c *container) postedAt() time.Time {
	c.pod.t.Helper()
	file, err := os.Stat(c.pod.path("run", fmt.Sprint(c.index), "out"))
	c.pod.must(err)
	return file.ModTime()
}

// posted says what the step told the next one: "out", "out.err" or "".
func (c *container) posted() string {
	c.pod.t.Helper()
	found, err := filepath.Glob(c.pod.path("run", fmt.Sprint(c.index), "*"))
	c.pod.must(err)
	if len(found) == 0 {
		return ""
	}
	if len(found) > 1 {
		c.pod.t.Errorf("%s posted more than once: %v", c.name, found)
	}
	return filepath.Base(found[0])
}

// exitCode is what later steps read at $(steps.<name>.exitCode.path).
func (c *container) exitCode() string {
	return c.pod.read("steps", c.name, "exitCode")
}

// read is the content of a file in the pod, "<none>" if there is none.
func (p *pod) read(elements ...string) string {
	p.t.Helper()
	content, err := os.ReadFile(p.path(elements...))
	if errors.Is(err, fs.ErrNotExist) {
		return "<none>"
	}
	p.must(err)
	return string(content)
}

// appears waits for a file in the pod: that a step has come so far.
func (p *pod) appears(elements ...string) {
	p.t.Helper()
	p.until("there is "+filepath.Join(elements...), func() bool {
		_, err := os.Stat(p.path(elements...))
		return err == nil
	})
}

func (p *pod) until(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s", what)
		}
	}
}

func equal[T comparable](tb testing.TB, what string, got, want T) {
	tb.Helper()
	if got != want {
		tb.Errorf("%s: got %v, want %v", what, got, want)
	}
}
