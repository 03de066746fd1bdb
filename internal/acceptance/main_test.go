package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestTheYAMLOfAProgramIsNotTried(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.txt", "runs/c.yml", "program/main.go", "program/d.yaml", "program/config/e.yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := choose(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a.yaml", filepath.Join("runs", "c.yml")}; !slices.Equal(files, want) {
		t.Errorf("%v, want %v", files, want)
	}
}
