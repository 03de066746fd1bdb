// Package cgroup finds a pod's processes on the machine that runs them, so that a test
// can kill the one that it means and no other of that name.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// root is where the kernel's cgroups are mounted.
const root = "/sys/fs/cgroup"

// Find returns the processes of the pod with this UID that run the program of this name
// (the last part of its path). None is no error: a container that has died may be about to
// be started again.
func Find(uid, program string) ([]int, error) {
	pids, err := processes(root, uid)
	if err != nil {
		return nil, err
	}
	var found []int
	for pid := range pids {
		if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && filepath.Base(exe) == program {
			found = append(found, pid)
		}
	}
	return found, nil
}

// processes reads the cgroups of a pod (v1 and v2; cgroupfs and systemd spell the UID with
// - and _). With v1, each process is in a cgroup of every hierarchy.
func processes(root, uid string) (map[int]bool, error) {
	pids := map[int]bool{}
	spellings := []string{uid, strings.ReplaceAll(uid, "-", "_")}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // cgroups come and go while we walk
		}
		if err != nil || d.Name() != "cgroup.procs" {
			return err
		}
		if !strings.Contains(path, spellings[0]) && !strings.Contains(path, spellings[1]) {
			return nil
		}
		text, _ := os.ReadFile(path) //nolint:gosec // the kernel's files, in which nobody makes links; gone since, or not
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids[pid] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the processes of pod %s: %w", uid, err)
	}
	return pids, nil
}
