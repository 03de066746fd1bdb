package pipelinerun

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

const oneAfterTheOther = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - {name: a, taskSpec: {steps: [{image: busybox, script: exit 0}]}}
    - {name: b, runAfter: [a], taskSpec: {steps: [{image: busybox, script: exit 0}]}}
`

// An administrator shortens the default time-out while a PipelineRun is at work. The
// run keeps the time that it began with, and so has the task that begins later, over
// a restart of the controller as well.
func TestARunThatHasBegunKeepsItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byDefault := 2 * time.Hour
		settings := func(to *Config) { to.DefaultTimeout = byDefault }
		c := newCluster(t, oneAfterTheOther)
		c.rec.parts.Settings = settings
		c.settle(nil)
		if given := c.taskRun("run-a").Spec.Timeout; given != nil {
			t.Errorf("the first task has %s, and not what TaskRuns have by default", given.Duration)
		}

		byDefault = time.Minute
		time.Sleep(10 * time.Minute)
		c.restart()
		c.rec.parts.Settings = settings
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		if c.run().IsDone() {
			t.Fatalf("ended: %+v", c.run().Succeeded())
		}
		if given := c.taskRun("run-b").Spec.Timeout; given == nil || given.Duration != 2*time.Hour {
			t.Errorf("the second task has %v", given)
		}

		time.Sleep(2 * time.Hour)
		c.settle(nil)
		c.ends("run-b", corev1.ConditionFalse, "TaskRunCancelled")
		c.settle(nil)
		if got := c.run().Succeeded(); got.Reason != string(crds.PipelineRunReasonTimedOut) {
			t.Errorf("after its two hours it is %+v", got)
		}
	})
}

// All that one reconcile looks at and does goes by one moment of the settings.
func TestAReconcileAsksForTheSettingsOnce(t *testing.T) {
	asked := 0
	c := newCluster(t, oneTask)
	c.rec.parts.Settings = func(*Config) { asked++ }
	_, err := c.rec.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: "run"})
	if err != nil || len(c.calls) < 2 || asked != 1 {
		t.Errorf("asked %d times for %q: %v", asked, c.calls, err)
	}
}
