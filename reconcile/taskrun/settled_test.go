package taskrun

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// Once a run and its pod have ended nothing that happens to them, and no resync,
// has the run decoded again; a change of the run itself has, once.
func TestWhatIsSettledIsNotDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		scenarios()[0].play(c, func() { c.settle(nil) })
		decodes, calls := c.server.decodes, len(c.server.calls)
		for range 3 { // resyncs
			c.settle(nil)
		}
		delete(c.server.pods, "run-pod")
		c.settle(nil)
		if c.server.decodes != decodes || len(c.server.calls) != calls {
			t.Errorf("%d decodes and %d calls for a run that is done", c.server.decodes-decodes, len(c.server.calls)-calls)
		}
		c.server.user([]byte(`{"metadata":{"labels":{"a":"b"}}}`))
		c.settle(nil)
		c.settle(nil)
		if n := c.server.decodes - decodes; n != 1 {
			t.Errorf("%d decodes for a change of the run", n)
		}
		c.server.run = nil
		c.settle(nil)
		if n := c.rec.settled.Len(); n != 0 {
			t.Errorf("%d runs are remembered that are not there", n)
		}
	})
}

// A run that is done while its pod still goes down is not settled yet.
func TestRunIsSettledWithItsPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		still := ended(0)
		still.Phase = running().Phase
		c.kubelet(still)
		c.settle(nil)
		if !c.server.run.IsDone() || c.rec.settled.Len() != 0 {
			t.Errorf("done %v, settled %v", c.server.run.IsDone(), c.rec.settled.Len())
		}
		time.Sleep(time.Second)
		c.kubelet(ended(0))
		c.settle(nil)
		if c.rec.settled.Len() != 1 {
			t.Error("not settled with its pod")
		}
	})
}

// The process that ended a run dies before it stops the pod, and the next one is shown no
// pod until its watch has come to it: it is stopped then, once.
func TestAPodThatComesLateToTheCacheIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		pod := c.pod()
		c.kubelet(running())
		c.server.run.Status.Conditions.Set(failure(crds.TaskRunReasonStepFailed, "x"), time.Now())
		c.server.store(c.server.run)
		c.restart()
		c.server.freeze()
		delete(c.server.frozen.pods, pod.Name)
		c.reconcile()
		if n := c.asked("stop pod"); n != 0 || c.rec.settled.Len() != 1 {
			t.Fatalf("a pod that no cache shows was stopped %d times, %d runs are settled", n, c.rec.settled.Len())
		}
		c.server.frozen = nil
		c.settle(nil)
		c.settle(nil)
		if n := c.asked("stop pod"); n != 1 {
			t.Errorf("the pod was stopped %d times when it had come", n)
		}
		if name, _ := c.rec.settled.Without(c.key()); c.rec.settled.Len() != 1 || name != "" {
			t.Errorf("%d runs are settled, without %q", c.rec.settled.Len(), name)
		}
	})
}

// Somebody else's pod has the name of the run's. What happens to it has nobody decode the
// run or the pod; only another pod of the name can be the run's.
func TestSomebodyElsesPodHasNothingDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		ours := c.pod()
		c.kubelet(running())
		c.server.run.Status.Conditions.Set(failure(crds.TaskRunReasonStepFailed, "x"), time.Now())
		c.server.store(c.server.run)
		c.restart()
		c.server.freeze()
		theirs := ours.DeepCopy()
		theirs.UID, theirs.OwnerReferences = "theirs", nil
		c.server.frozen.pods[ours.Name] = theirs
		c.reconcile()
		decodes, pods := c.server.decodes, c.server.podDecodes
		for range 3 { // events of the pod
			c.reconcile()
		}
		if c.server.decodes != decodes || c.server.podDecodes != pods || c.asked("stop pod") != 0 {
			t.Errorf("%d decodes of the run, %d of the pod, for what happens to somebody else's: %v", c.server.decodes-decodes, c.server.podDecodes-pods, c.server.calls)
		}
		c.server.frozen = nil // theirs has gone, and ours is shown at last
		c.settle(nil)
		if n := c.asked("stop pod"); n != 1 {
			t.Errorf("the run's pod was stopped %d times when it had come", n)
		}
	})
}

// The process that ended a run dies, and the next one is shown the pod as it was before
// its first step began, or without what is in it. Logs that are to stay do: the server is
// asked for the pod before it is deleted for that.
func TestThePodOfARunThatHasEndedIsNotDeletedOnTheWordOfTheCache(t *testing.T) {
	for name, reason := range map[string]crds.TaskRunReason{
		"kept": crds.TaskRunReasonCancelled, "failed": crds.TaskRunReasonStepFailed,
	} {
		for _, damaged := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, damaged %t", name, damaged), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, oneStep)
					c.settle(nil)
					c.server.run.Status.Conditions.Set(failure(reason, "x"), time.Now())
					c.server.store(c.server.run)
					c.restart()
					c.rec.parts.Settings = func(to *Config) { to.KeepPodOnCancel = true }
					c.server.freeze()
					c.kubelet(running())
					if damaged {
						c.server.frozen.pods["run-pod"].ResourceVersion = c.pod().ResourceVersion
					}
					c.reconcile()
					if c.server.pods["run-pod"] == nil || c.asked("stop pod") != 1 {
						t.Errorf("the pod is there: %t, and was stopped %d times", c.server.pods["run-pod"] != nil, c.asked("stop pod"))
					}
				})
			})
		}
	}
}

// A pod that begins while it is deleted for not having begun is kept all the same.
func TestAPodThatBeginsInTheLastMomentIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.rec.parts.Settings = func(to *Config) { to.KeepPodOnCancel = true }
		c.settle(nil)
		c.server.user([]byte(`{"spec":{"status":"TaskRunCancelled"}}`))
		c.server.faults[len(c.server.calls)+2] = late // after the pod and the run were asked for
		c.server.onFault = func() { c.kubelet(running()) }
		c.settle(nil)
		if c.server.pods["run-pod"] == nil || c.asked("delete pod") != 1 || c.asked("stop pod") != 1 {
			t.Errorf("the pod is there: %t, after %d deletions, and was stopped %d times", c.server.pods["run-pod"] != nil, c.asked("delete pod"), c.asked("stop pod"))
		}
	})
}

// What the cache has in a pod's place, under its name and version, and nothing more is told
// of: the run ends as its pod did.
func TestAPodWithoutContainersIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		c.kubelet(ended(0))
		c.restart()
		c.server.freeze()
		c.server.frozen.pods["run-pod"].Spec, c.server.frozen.pods["run-pod"].Status = corev1.PodSpec{}, corev1.PodStatus{}
		c.reconcile()
		if !c.server.run.IsDone() || c.server.pods["run-pod"] == nil || c.asked("get pod") != 1 {
			t.Errorf("the run has ended: %t, and the pod was asked for %d times", c.server.run.IsDone(), c.asked("get pod"))
		}
	})
}
