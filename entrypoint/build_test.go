package main

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A copy of the program is in every pod: it is small, static and ours alone.
func TestTheProgramIsSmallAndStatic(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		t.Run(arch, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "entrypoint")
			build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, ".")
			build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			if info.Size() > 3_000_000 {
				t.Errorf("%d bytes", info.Size())
			}
			f, err := elf.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for _, segment := range f.Progs {
				if segment.Type == elf.PT_INTERP || segment.Type == elf.PT_DYNAMIC {
					t.Errorf("not static: it has a %v segment", segment.Type)
				}
			}
		})
	}
}

// Nothing but the standard library, and of that no network.
func TestImports(t *testing.T) {
	list := exec.Command("go", "list", "-deps", "-f", "{{if not .Standard}}foreign {{end}}{{.ImportPath}}", ".")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "foreign millrace/entrypoint":
		case strings.HasPrefix(line, "foreign "), line == "net", line == "os/exec", line == "crypto/tls":
			t.Errorf("imports %s", line)
		}
	}
}
