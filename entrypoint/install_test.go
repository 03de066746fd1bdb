package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The init container's work, where images cannot be mounted.
func TestInitCopiesTheProgram(t *testing.T) {
	dir := t.TempDir()
	to := filepath.Join(dir, "entrypoint")
	// The first try was killed half-way, after it had made this.
	if err := os.WriteFile(to+".part", []byte("half"), 0o444); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may be run again
		if out, err := exec.Command(program, "init", program, to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	info, err := os.Stat(to)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "mode", info.Mode(), os.FileMode(0o555))
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "files in the directory", len(entries), 1)
	if out, err := exec.Command(to, "-entrypoint", "/bin/sh", "-termination_path", filepath.Join(dir, "message"), "--", "-c", "exit 6").CombinedOutput(); err == nil || err.Error() != "exit status 6" {
		t.Errorf("the copy: %v: %s", err, out)
	}
}

func TestInitSaysWhatIsWrong(t *testing.T) {
	for _, args := range [][]string{{"init"}, {"init", "a"}, {"init", "a", "b", "c"}} {
		out, err := exec.Command(program, args...).CombinedOutput()
		if err == nil || err.Error() != "exit status 2" {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	out, err := exec.Command(program, "init", "/no/such", filepath.Join(t.TempDir(), "x")).CombinedOutput()
	if err == nil || err.Error() != "exit status 1" {
		t.Errorf("%v: %s", err, out)
	}
}
