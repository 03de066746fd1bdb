//go:build e2e

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

const install = "tekton-pipelines"

// setsDefault writes the ConfigMap config-defaults, with that default time-out alone.
func (s space) setsDefault(minutes string) {
	s.t.Helper()
	yaml := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config-defaults}\ndata: {default-timeout-minutes: %q}\n", minutes)
	if out, err := kubectl(yaml, "-n", install, "apply", "-f", "-"); err != nil {
		s.t.Fatal(out, err)
	}
}

// deadline is what the pod of a run was made with: one and a half times the run's time.
func (s space) deadline(name string) string {
	s.t.Helper()
	pod := s.until(name, "given a pod", func(r run) bool { return r.Status.PodName != "" }).Status.PodName
	var deadline string
	eventually(s.t, "pod "+pod, func() bool {
		deadline = s.must("get", "pods", "--field-selector=metadata.name="+pod, "-o", "jsonpath={.items[*].spec.activeDeadlineSeconds}")
		return deadline != ""
	})
	return deadline
}

const anHour, sevenMinutes = "5400", "630"

// An administrator changes the default time-out while a run is at work: the next run has
// it, and the one at work has what it began with. Then the value is mistyped: the last
// good one stays in force, and the ConfigMap has an event that says what is wrong.
func TestASettingChangesWhileRunsAreAtWork(t *testing.T) {
	s := newSpace(t)
	t.Cleanup(func() { s.kubectl("-n", install, "delete", "configmap", "config-defaults", "--ignore-not-found") })
	created := 0
	create := func() string {
		created++
		name := fmt.Sprint("run-", created)
		s.create(fmt.Sprintf("apiVersion: tekton.dev/v1\nkind: TaskRun\nmetadata: {name: %s}\nspec:\n  taskSpec:\n    steps: [{name: s, image: busybox, script: sleep 600}]\n", name))
		return name
	}
	before := create()
	s.until(before, "running", firstStepRuns)

	s.setsDefault("7")
	eventually(t, "a run that is given seven minutes", func() bool { return s.deadline(create()) == sevenMinutes })
	if got := s.get(before); s.deadline(before) != anHour || !firstStepRuns(got) || got.reason() != "Running" {
		t.Errorf("the run that was at work has %s s, and is %s", s.deadline(before), got)
	}

	s.setsDefault("7 minutes")
	eventually(t, "an event of the ConfigMap", func() bool {
		told := s.kubectl("-n", install, "get", "events", "--field-selector=reason=InvalidSetting,involvedObject.name=config-defaults", "-o", "jsonpath={.items[*].message}")
		return strings.Contains(told, "default-timeout-minutes") && strings.Contains(told, "7 minutes")
	})
	if got := s.deadline(create()); got != sevenMinutes {
		t.Errorf("the next run has %s s", got)
	}

	s.kubectl("-n", install, "delete", "configmap", "config-defaults")
	eventually(t, "a run that is given an hour", func() bool { return s.deadline(create()) == anHour })
}
