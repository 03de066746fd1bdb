package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A script travels in the arguments, in pieces, since one argument holds no more
// than 128 KiB.
func TestAScriptInPieces(t *testing.T) {
	p := newPod(t)
	file := p.path("scripts", "script-0")
	text := "#!/bin/sh\nset -e\necho \"$0 $1\"\n#" + strings.Repeat("x", 300<<10) + "\necho end \"$(wc -c < $0)\"\n"
	flags := []string{"-script_file", file}
	for rest := text; rest != ""; {
		n := min(len(rest), 96<<10)
		flags = append(flags, "-script", rest[:n])
		rest = rest[n:]
	}
	c := p.step(flags, file, "argument").wants(0)
	lines := strings.Fields(c.stdout.String())
	equal(t, "output", strings.Join(lines[:3], " "), file+" argument end")
	equal(t, "script", p.read("scripts", "script-0") == text, true)
}

func TestAScriptOfAnotherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run steps as somebody else")
	}
	p := newPod(t)
	file := p.path("scripts", "script-0")
	c := p.step([]string{"-script_file", file, "-script", "#!/bin/sh\nid -u"}, file)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	c.wants(0)
	equal(t, "user", c.stdout.String(), "1000\n")
	info, err := os.Stat(file)
	p.must(err)
	equal(t, "mode", info.Mode(), os.FileMode(0o755))
}

// It is the last line of the script that counts for the message: the file was
// written a moment before.
func TestAScriptWhoseInterpreterIsNotInTheImage(t *testing.T) {
	p := newPod(t)
	file := p.path("scripts", "script-0")
	p.step([]string{"-script_file", file, "-script", "#!/usr/bin/perl7\n"}, file).wants(exitNotFound).says(`interpreter "/usr/bin/perl7"`)
}

// An earlier step has put a link, a file or a pipe where the script will be.
func TestAScriptIsNotWrittenOverAnything(t *testing.T) {
	for name, plant := range map[string]string{
		"link":     "ln -s ../precious script-1",
		"file":     "echo echo mine > script-1; chmod 755 script-1",
		"pipe":     "mkfifo script-1",
		"dangling": "ln -s ../made script-1",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.must(os.WriteFile(p.path("precious"), []byte("precious"), 0o755))
			p.sh("cd " + p.path("scripts") + " && " + plant).wants(0)
			file := p.path("scripts", "script-1")
			c := p.step([]string{"-script_file", file, "-script", "#!/bin/sh\necho ran"}, file).wants(exitFailed).says("script-1", "file exists")
			equal(t, "output", c.stdout.String(), "")
			equal(t, "what the link names", p.read("precious"), "precious")
			equal(t, "what the other link names", p.read("made"), "<none>")
		})
	}
}

// A step's metadata directory that is a link would have results of the step
// written and read elsewhere.
func TestAMetadataDirectoryThatIsALink(t *testing.T) {
	p := newPod(t)
	p.must(os.Mkdir(p.path("elsewhere"), 0o777))
	p.must(os.Symlink(p.path("elsewhere"), p.path("steps", "step-0")))
	p.sh("true").wants(exitFailed).says("it is a link")
	left, err := os.ReadDir(p.path("elsewhere"))
	p.must(err)
	equal(t, "files written through the link", len(left), 0)
}
