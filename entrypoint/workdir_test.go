package main

import (
	"os"
	"syscall"
	"testing"
)

// The directory comes into being when it is the step's turn, so that a step before
// finds nothing in its way; what is there already is used as it is.
func TestWorkingDirIsMadeInTime(t *testing.T) {
	p := newPod(t)
	dir := p.path("workspace", "source", "sub")
	first := p.sh("test ! -e " + p.path("workspace", "source"))
	second := p.sh("pwd; touch file", "-working_dir", dir)
	third := p.sh("ls", "-working_dir", dir)
	first.wants(0)
	equal(t, "directory", second.wants(0).stdout.String(), dir+"\n")
	equal(t, "files", third.wants(0).stdout.String(), "file\n")
}

func TestWorkingDirBelongsToTheUserOfTheStep(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can run steps as somebody else")
	}
	p := newPod(t)
	c := p.sh("touch file", "-working_dir", p.path("workspace", "a", "b"))
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	c.wants(0)
}

// A command with a slash is looked up from there.
func TestCommandInTheWorkingDir(t *testing.T) {
	p := newPod(t)
	p.must(os.WriteFile(p.path("workspace", "run.sh"), []byte("#!/bin/sh\necho here"), 0o755))
	c := p.step([]string{"-working_dir", p.path("workspace")}, "./run.sh").wants(0)
	equal(t, "output", c.stdout.String(), "here\n")
}

func TestWorkingDirThatCannotBe(t *testing.T) {
	p := newPod(t)
	p.must(os.WriteFile(p.path("workspace", "file"), nil, 0o644))
	p.sh("true", "-working_dir", p.path("workspace", "file")).wants(exitFailed).says("working directory").says("not a directory")
	p.sh("true").wants(exitFailed) // and the next step does not wait for ever
}
