package main

import (
	"bytes"
	"debug/elf"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestExitStatusIsTheCommands(t *testing.T) {
	p := newPod(t)
	p.sh("exit 42").wants(42)
}

func TestExitStatusOfASignal(t *testing.T) {
	p := newPod(t)
	c := p.sh("kill -9 $$").wants(exitSignalled + 9)
	equal(t, "recorded exit code", c.exitCode(), "137")
	equal(t, "posted", c.posted(), "out.err")
}

// The command has what the container has: environment, working directory,
// standard streams, arguments to the byte.
func TestTheCommandGetsWhatTheContainerHas(t *testing.T) {
	p := newPod(t)
	c := p.step(nil, "/bin/sh", "-c", `pwd; echo "$COLOUR"; cat; printf '<%s>' "$@" >&2`, "sh", "-results", "", "two words", "--", "$(x)")
	c.Env = append(os.Environ(), "COLOUR=blue")
	c.Stdin = strings.NewReader("from stdin\n")
	c.wants(0)
	equal(t, "stdout", c.stdout.String(), p.path("workspace")+"\nblue\nfrom stdin\n")
	equal(t, "stderr", c.stderr.String(), "<-results><><two words><--><$(x)>")
}

func TestACommandIsLookedUpInThePathOfTheContainer(t *testing.T) {
	p := newPod(t)
	p.must(os.Mkdir(p.path("no"), 0o755))
	p.must(os.Mkdir(p.path("bin"), 0o755))
	p.must(os.WriteFile(p.path("no", "greet"), []byte("not executable"), 0o644))
	p.must(os.WriteFile(p.path("bin", "greet"), []byte("#!/bin/sh\necho hello"), 0o755))
	c := p.step(nil, "greet")
	c.Env = []string{"PATH=" + p.path("nowhere") + ":" + p.path("no") + ":" + p.path("bin")}
	c.wants(0)
	equal(t, "stdout", c.stdout.String(), "hello\n")
}

func TestAPathIsRelativeToTheWorkingDirectory(t *testing.T) {
	p := newPod(t)
	p.must(os.WriteFile(p.path("workspace", "greet"), []byte("#!/bin/sh\necho hello"), 0o755))
	p.step(nil, "./greet").wants(0)
	c := p.step(nil, "greet")
	c.Env = []string{"PATH=:/bin"} // an empty element is the working directory
	c.wants(0)
}

// What goes wrong at the start, and what a person is told about it.
func TestACommandThatDoesNotStart(t *testing.T) {
	type story struct {
		command string // in the workspace, unless the name has no slash
		file    string
		mode    os.FileMode
		status  int
		says    []string
	}
	for name, s := range map[string]story{
		"not in PATH":        {"gradle", "", 0, exitNotFound, []string{`command "gradle" not found`, "PATH=/usr/bin:/bin"}},
		"no such file":       {"./gradlew", "", 0, exitNotFound, []string{`command "./gradlew" not found in the image`}},
		"not executable":     {"./run.sh", "#!/bin/sh\n", 0o644, exitNotExecutable, []string{`"./run.sh" is not executable`, "-rw-r--r--"}},
		"a directory":        {"../workspace", "", 0, exitNotExecutable, []string{"is a directory"}},
		"neither of both":    {"./data", "hello", 0o755, exitNotExecutable, []string{`"./data" is neither a program for`, "#!"}},
		"no interpreter":     {"./x", "#!/opt/python3 -u\nprint()", 0o755, exitNotFound, []string{`interpreter "/opt/python3", which the image does not have`}},
		"Windows line ends":  {"./x", "#!/bin/sh\r\necho\r\n", 0o755, exitNotFound, []string{`interpreter "/bin/sh\r"`, "Windows line ends"}},
		"interpreter no exe": {"./x", "#!/etc/passwd\n", 0o755, exitNotExecutable, []string{`interpreter "/etc/passwd", which cannot be executed`}},
		"another machine":    {"./x", "\x7fELF\x02\x01\x01", 0o755, exitNotExecutable, []string{"neither a program for"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			if s.file != "" {
				p.must(os.WriteFile(p.path("workspace", s.command), []byte(s.file), s.mode))
			}
			c := p.step(nil, s.command)
			c.Env = []string{"PATH=/usr/bin:/bin"}
			c.wants(s.status).says(s.says...).tells()
			equal(t, "posted", c.posted(), "out.err")
			equal(t, "exit code", c.exitCode(), "<none>")
		})
	}
}

// A program linked for glibc in an image with musl: execve says "no such file"
// about a file that everybody can see.
func TestAProgramWithoutItsLoader(t *testing.T) {
	p := newPod(t)
	p.must(os.WriteFile(p.path("workspace", "tool"), withoutLoader(t), 0o755))
	p.step(nil, "./tool").wants(exitNotFound).says(`"./tool" is there`, "loader")
	p.must(os.WriteFile(p.path("workspace", "script"), []byte("#!"+p.path("workspace", "tool")+"\n"), 0o755))
	p.must(os.RemoveAll(p.path("run"))) // another pod, as it were
	p.steps = nil
	p.step(nil, "./script").wants(exitNotFound).says(`"./script" is there`, "interpreter")
}

// withoutLoader is /bin/sh, asking for a loader that is nowhere.
func withoutLoader(t *testing.T) []byte {
	t.Helper()
	shell, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(shell))
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP {
			copy(shell[segment.Off:], "/no")
			return shell
		}
	}
	t.Skip("/bin/sh is static here")
	return nil
}

// An unprivileged user meets a directory that is closed to it.
func TestAClosedDirectory(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run steps as somebody else")
	}
	p := newPod(t)
	p.must(os.Mkdir(p.path("closed"), 0o700))
	p.must(os.WriteFile(p.path("closed", "tool"), []byte("#!/bin/sh\n"), 0o755))
	c := p.step(nil, p.path("closed", "tool"))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	c.wants(exitNotExecutable).says("closed to user 1000")
}
