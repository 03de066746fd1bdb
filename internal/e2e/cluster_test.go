//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A space is a namespace that a test has for itself.
type space struct {
	t  *testing.T
	ns string
}

// newSpace fails where there is no cluster: a test that did not run must not
// look like one that passed.
func newSpace(t *testing.T) space {
	t.Helper()
	if os.Getenv("KUBECONFIG") == "" {
		t.Fatal("KUBECONFIG is not set: these tests need a cluster with Millrace (make test brings one up)")
	}
	s := space{t, "e2e-" + strings.ToLower(strings.ReplaceAll(t.Name(), "_", "-"))}
	if len(s.ns) > 63 {
		s.ns = strings.TrimRight(s.ns[:63], "-")
	}
	s.kubectl("create", "namespace", s.ns)
	t.Cleanup(func() {
		if t.Failed() {
			fmt.Println(s.must("get", "taskruns,pods", "-o", "wide"))
			fmt.Println(s.must("get", "events", "--sort-by=.lastTimestamp"))
		}
		s.kubectl("delete", "namespace", s.ns, "--wait=false")
	})
	return s
}

// kubectl runs it and fails the test if it fails; must adds the namespace.
func (s space) kubectl(args ...string) string {
	s.t.Helper()
	out, err := kubectl("", args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

func (s space) must(args ...string) string {
	s.t.Helper()
	return s.kubectl(append([]string{"-n", s.ns}, args...)...)
}

func (s space) create(yaml string) {
	s.t.Helper()
	if out, err := kubectl(yaml, "-n", s.ns, "create", "-f", "-"); err != nil {
		s.t.Fatal(out, err)
	}
}

func kubectl(stdin string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience) // of which kubectl may have been told to wait one
	defer cancel()
	cmd := exec.CommandContext(ctx, "kubectl", args...)
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// rolledOut waits until all that the Deployment of an install asks for is there.
func (s space) rolledOut(install string) {
	s.t.Helper()
	s.kubectl("-n", install, "rollout", "status", "deployment/millrace-controller", "--timeout="+patience.String())
}

// A run is what these tests look at in a TaskRun.
type run struct {
	Metadata struct{ UID, Name string }
	Status   struct {
		Conditions []struct{ Type, Status, Reason, Message string }
		PodName    string
		Steps      []struct {
			Name              string
			TerminationReason string
			Running           *struct{ StartedAt time.Time }
			Terminated        *struct{ ExitCode int }
		}
		Results []struct{ Name, Value string }
	}
}

func (r run) reason() string {
	for _, c := range r.Status.Conditions {
		if c.Type == "Succeeded" {
			return c.Reason
		}
	}
	return ""
}

func (r run) String() string {
	return fmt.Sprintf("%+v", r.Status)
}

func (s space) get(name string) (r run) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must("get", "taskrun", name, "-o", "json")), &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

// patience is for a machine that is slow and has much else to do: what takes so long has
// stopped.
const patience = 5 * time.Minute

// eventually polls: the news is in another process.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for end := time.After(patience); !is(); {
		select {
		case <-poll.C:
		case <-end:
			t.Fatalf("waited %s in vain for %s", patience, what)
		}
	}
}

// until waits for the TaskRun to be as wanted.
func (s space) until(name, what string, wanted func(run) bool) (last run) {
	s.t.Helper()
	defer func() {
		if s.t.Failed() {
			s.t.Logf("TaskRun %s, last seen: %s", name, last)
		}
	}()
	eventually(s.t, "TaskRun "+name+" to be "+what, func() bool {
		last = s.get(name)
		return wanted(last)
	})
	return last
}

func (s space) untilReason(name, reason string) run {
	s.t.Helper()
	return s.until(name, reason, func(r run) bool { return r.reason() == reason })
}

func firstStepRuns(r run) bool { return len(r.Status.Steps) > 0 && r.Status.Steps[0].Running != nil }
