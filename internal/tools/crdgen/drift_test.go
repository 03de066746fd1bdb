package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// folder is that of package crds, seen from here.
var folder = filepath.Join("..", "..", "..", "crds")

// The files beside the types are what the types make: nobody has edited the one
// and forgotten the other, and no file has outlived its type.
func TestDefinitionsAreWhatTheTypesMake(t *testing.T) {
	made, err := Generate(folder)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range made {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Errorf("%v: run `make crds`", err)
			continue
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the types make: run `make crds`\n%s", name, firstDifference(got, want))
		}
	}
	kept, err := filepath.Glob(filepath.Join(folder, "*tekton.dev_*.yaml")) // the kustomization beside them is written by hand
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range kept {
		if _, ok := made[filepath.Base(path)]; !ok {
			t.Errorf("%s is made from no type", path)
		}
	}
}

// The same types make the same bytes: schemas are kept in maps on the way.
func TestGenerateIsDeterministic(t *testing.T) {
	first, err := Generate(folder)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := Generate(folder)
		if err != nil {
			t.Fatal(err)
		}
		for name := range first {
			if !bytes.Equal(first[name], again[name]) {
				t.Fatalf("%s differs from one run to the next\n%s", name, firstDifference(first[name], again[name]))
			}
		}
	}
}

func TestGenerateSaysWhatItCouldNotLoad(t *testing.T) {
	if _, err := Generate(t.TempDir()); err == nil {
		t.Error("a folder without Go files made definitions")
	}
}

func firstDifference(a, b []byte) string {
	as, bs := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(as), len(bs)) {
		if !bytes.Equal(as[i], bs[i]) {
			return "- " + string(as[i]) + "\n+ " + string(bs[i])
		}
	}
	return "one is longer than the other"
}
