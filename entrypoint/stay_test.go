package main

import (
	"os"
	"syscall"
	"testing"
	"time"
)

// Claim 15.
func TestSidecarThatHasDoneItsWorkStays(t *testing.T) {
	p := newPod(t)
	c := p.step([]string{"-stay", "-script", "#!/bin/sh\necho done > " + p.path("run", "done") + "\n", "-script_file", p.path("scripts", "sidecar")}, p.path("scripts", "sidecar"))
	c.start()
	p.appears("run", "0", "out") // all is recorded, and it could end
	p.must(c.Process.Signal(syscall.SIGWINCH))
	time.Sleep(50 * time.Millisecond)
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("it has ended by itself: %v", err)
	}
	equal(t, "exit status", c.exit(), 0)
}

func TestSidecarThatFailsEndsAndRunsAnew(t *testing.T) {
	p := newPod(t)
	flags := []string{"-stay", "-script", "#!/bin/sh\nexit 3\n", "-script_file", p.path("scripts", "sidecar")}
	p.step(flags, p.path("scripts", "sidecar")).wants(3)
	p.must(os.RemoveAll(p.path("run", "0")))
	again := p.step(flags, p.path("scripts", "sidecar"))
	again.Args = append(again.Args[:1:1], again.Args[3:]...) // it waits for nobody
	again.wants(3)
}
