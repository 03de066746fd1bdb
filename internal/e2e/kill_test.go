//go:build e2e

package e2e

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// killController sends SIGKILL to the controller's process, which runs on this
// machine: the node is one. It is found by its pod's cgroup, so that no other
// process of that name can be meant. One that is just being started again after
// an earlier kill is waited for.
func killController(t *testing.T) {
	t.Helper()
	eventually(t, "a controller's process to kill", func() bool {
		uids, err := kubectl("", "-n", "tekton-pipelines", "get", "pods", "-l", "app.kubernetes.io/name=millrace",
			"-o", "jsonpath={.items[*].metadata.uid}")
		killed := 0
		for uid := range strings.FieldsSeq(uids) {
			for pid := range processesOf(t, uid) {
				if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && filepath.Base(exe) == "millrace" {
					if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
						t.Fatalf("kill -9 of the controller: %v", err)
					}
					killed++
				}
			}
		}
		return err == nil && killed > 0
	})
}

// processesOf reads the cgroups of a pod (v1 and v2; cgroupfs and systemd spell
// the UID with - and _).
func processesOf(t *testing.T, uid string) map[int]bool {
	t.Helper()
	pids := map[int]bool{}
	spellings := []string{uid, strings.ReplaceAll(uid, "-", "_")}
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // cgroups come and go while we walk
		}
		if err != nil || d.Name() != "cgroup.procs" {
			return err
		}
		if !strings.Contains(path, spellings[0]) && !strings.Contains(path, spellings[1]) {
			return nil
		}
		text, _ := os.ReadFile(path)
		for field := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				pids[pid] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return pids
}
