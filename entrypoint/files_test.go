package main

import (
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
)

// Somebody puts a link in the place of a directory again and again, while it is
// looked at: what the link leads to is never read, and never written.
func TestADirectoryThatIsSwappedForALink(t *testing.T) {
	dir := t.TempDir()
	steps, private := filepath.Join(dir, "steps"), filepath.Join(dir, "private")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, each := range []string{filepath.Join(steps, "step-a", "results"), filepath.Join(private, "results")} {
		must(os.MkdirAll(each, 0o755))
	}
	must(os.WriteFile(filepath.Join(steps, "step-a", "results", "r"), []byte("public"), 0o644))
	must(os.WriteFile(filepath.Join(private, "results", "r"), []byte("secret"), 0o644))
	must(os.Symlink(private, filepath.Join(steps, "link")))

	// Every other round waits for one whole look at the directory: a scheduler
	// that lets the two run in step would else show the link at each look.
	var over atomic.Bool
	var looks, swaps atomic.Int64
	swapped := make(chan struct{})
	go func() {
		defer close(swapped)
		for a, aside, link := filepath.Join(steps, "step-a"), filepath.Join(steps, "aside"), filepath.Join(steps, "link"); !over.Load(); {
			_ = os.Rename(a, aside)
			_ = os.Rename(link, a)
			_ = os.Rename(a, link)
			_ = os.Rename(aside, a)
			for from, n := looks.Load(), swaps.Add(1); n%2 == 0 && looks.Load() < from+2 && !over.Load(); {
				runtime.Gosched()
			}
		}
	}()
	read := 0
	for looks.Load() < 3000 || swaps.Load() < 100 || read == 0 { // else it would show nothing
		content, _, err := readBelow(filepath.Join(steps, "step-a", "results", "r"), 2, 100)
		if string(content) == "secret" {
			t.Fatal("the secret was read")
		}
		if err == nil {
			read++
		}
		_ = writeOver(filepath.Join(steps, "step-a", "exitCode"), "0")
		looks.Add(1)
	}
	over.Store(true)
	<-swapped
	if _, err := os.Stat(filepath.Join(private, "exitCode")); err == nil {
		t.Error("written through the link")
	}
}
