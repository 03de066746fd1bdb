package cgroup

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAPodsProcessesAreFoundInEitherSpelling(t *testing.T) {
	root := t.TempDir()
	for path, pids := range map[string]string{
		"memory/kubepods/pod0-1/c1":            "11\n12\n",
		"cpu/kubepods/pod0-1/c1":               "11\n12\n",
		"kubepods.slice/kubepods-pod0_1.slice": "13\n",
		"memory/kubepods/pod0-2/c1":            "21\n",
	} {
		dir := filepath.Join(root, path)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(pids), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pids, err := processes(root, "0-1")
	if got := slices.Sorted(maps.Keys(pids)); err != nil || !slices.Equal(got, []int{11, 12, 13}) {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestNoProcessIsNoError(t *testing.T) {
	if found, err := Find("no-such-pod", "millrace"); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v", found, err)
	}
}
