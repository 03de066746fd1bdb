//go:build e2e

package e2e

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"millrace/internal/cgroup"
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
			pids, err := cgroup.Find(uid, "millrace")
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range pids {
				switch err := syscall.Kill(pid, syscall.SIGKILL); {
				case err == nil:
					killed++
				case !errors.Is(err, syscall.ESRCH): // which has just ended by itself
					t.Fatalf("kill -9 of the controller: %v", err)
				}
			}
		}
		return err == nil && killed > 0
	})
}
