package taskrun

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"millrace/crds"
)

// An administrator changes the default time-out and the ServiceAccount, twice, while a
// run is at work. The run keeps the time that it began with, over a restart of the
// controller as well; its second attempt has a pod of its own, and so what is said of
// pods by then.
func TestARunThatHasBegunKeepsItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		byDefault, account := 5*time.Minute, "first"
		c := newCluster(t, "metadata: {name: run}\nspec:\n  retries: 1\n  taskSpec:\n    steps: [{name: a, image: busybox, command: [work]}]\n")
		settings := func(to *Config) { to.DefaultTimeout, to.DefaultServiceAccount = byDefault, account }
		c.rec.parts.Settings = settings
		c.settle(nil)
		if deadline := *c.pod().Spec.ActiveDeadlineSeconds; deadline != activeDeadline(5*time.Minute) || c.pod().Spec.ServiceAccountName != "first" {
			t.Fatalf("%d s, as %s", deadline, c.pod().Spec.ServiceAccountName)
		}
		c.kubelet(running())

		byDefault, account = time.Minute, "second"
		time.Sleep(2 * time.Minute)
		c.restart()
		c.rec.parts.Settings = settings
		c.settle(nil)
		if c.server.run.IsDone() {
			t.Fatalf("ended: %+v", c.server.run.Succeeded())
		}

		c.kubelet(ended(1))
		c.settle(nil)
		if deadline := *c.pod().Spec.ActiveDeadlineSeconds; deadline != activeDeadline(5*time.Minute) || c.pod().Spec.ServiceAccountName != "second" {
			t.Errorf("the second attempt: %d s, as %s", deadline, c.pod().Spec.ServiceAccountName)
		}
		c.kubelet(running())
		byDefault = -1
		time.Sleep(5*time.Minute + time.Second)
		c.settle(nil)
		if got := c.server.run.Succeeded(); got.Reason != string(crds.TaskRunReasonTimedOut) {
			t.Errorf("after its five minutes it is %+v", got)
		}
	})
}

// All that one reconcile looks at and does goes by one moment of the settings.
func TestAReconcileAsksForTheSettingsOnce(t *testing.T) {
	asked := 0
	c := newCluster(t, oneStep)
	c.rec.parts.Settings = func(*Config) { asked++ }
	if _, err := c.rec.Reconcile(context.Background(), c.key()); err != nil || len(c.server.calls) < 2 || asked != 1 {
		t.Errorf("asked %d times for %q: %v", asked, c.server.calls, err)
	}
}
