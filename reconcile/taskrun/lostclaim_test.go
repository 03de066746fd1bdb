package taskrun

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// An attempt may have been seen to begin, and its pod have gone, before anything of
// that was written down; what it has written to the claim is lost all the same.
func TestAnAttemptThatWasOnlySeenToBeginHasUsedTheClaims(t *testing.T) {
	used := func(o observation) bool {
		t.Helper()
		p := plan(o, time.Unix(10_000, 0), Config{})
		return p.Actions[0].(PatchStatus).Status.Annotations[claimsAnnotation] == claimsInUse
	}
	outOfTime := func(bindings ...crds.WorkspaceBinding) *crds.TaskRun {
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid"}}
		run.Spec.Retries, run.Spec.Workspaces = 1, bindings
		run.Status.StartTime = &metav1.Time{Time: time.Unix(1_000, 0)}
		run.Status.TaskSpec = &crds.TaskSpec{Workspaces: []crds.WorkspaceDeclaration{{Name: "source"}}}
		return run
	}
	own := crds.WorkspaceBinding{Name: "source", VolumeClaimTemplate: &corev1.PersistentVolumeClaim{}}
	somebodys := crds.WorkspaceBinding{Name: "source", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}}

	if !used(observation{Run: outOfTime(own), PodSought: true, Witnessed: true}) {
		t.Error("the next attempt of a run whose first one had begun may have an empty claim")
	}
	if used(observation{Run: outOfTime(own), PodSought: true}) {
		t.Error("nothing had begun, and the next attempt may not have the claim made")
	}
	if used(observation{Run: outOfTime(somebodys), PodSought: true, Witnessed: true}) {
		t.Error("a run without claims of its own tells of them")
	}
}

const retriedWithAClaim = `
metadata: {name: run}
spec:
  retries: 1
  workspaces: [{name: source, volumeClaimTemplate: {metadata: {name: src}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}]
  taskSpec: {workspaces: [{name: source}], steps: [{name: a, image: x, script: x}]}
`

// The cache still shows a pod that waits for its volume when the claim has gone. Only
// where the server's pod waits, too, was there nothing to lose.
func TestAClaimIsLostBeforeThePodBeginsByTheServersPodAlone(t *testing.T) {
	for name, begun := range map[string]bool{"it waits": false, "it has begun": true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, retriedWithAClaim)
			c.settle(nil)
			c.server.freeze()
			if begun {
				c.kubelet(running())
			}
			clear(c.server.claims)
			time.Sleep(10 * time.Second)
			c.reconcile()
			attempts, reason := len(c.server.run.Status.RetriesStatus), c.server.run.Succeeded().Reason
			if begun && (attempts != 0 || c.pod() == nil || reason != string(crds.TaskRunReasonRunning)) {
				t.Errorf("%s: %d attempts have failed, its pod is %v, the run is %s", name, attempts, c.pod(), reason)
			}
			if !begun && (attempts != 1 || len(c.server.pods) != 0) {
				t.Errorf("%s: %d attempts have failed, and there are %d pods", name, attempts, len(c.server.pods))
			}
			if !begun {
				return
			}
			c.server.frozen = nil
			c.kubelet(ended(1))
			c.settle(nil)
			if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonClaimLost) || c.asked("create claim") != 1 {
				t.Errorf("the run ends with %s, and %d claims were made", reason, c.asked("create claim"))
			}
		})
	}
}

// Between the look at the pod and its deletion its step begins, be it that of a pod which
// has come in its place: it stays, and is looked at again.
func TestAPodThatBeginsBeforeItIsDeletedIsNotRetried(t *testing.T) {
	for _, uid := range []types.UID{"pod-uid-1", "of another"} {
		t.Run(string(uid), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, retriedWithAClaim)
				c.settle(nil)
				clear(c.server.claims)
				time.Sleep(10 * time.Second)
				before := len(c.server.calls)
				c.server.freeze()
				// get claim, get pod, get taskrun; then the pod is deleted
				c.server.faults[before+3] = late
				c.server.onFault = func() {
					c.pod().UID = uid
					c.kubelet(running())
				}
				if result := c.reconcile(); !result.Requeue || c.pod() == nil {
					t.Fatalf("%+v, the pod is %v, and these were the calls: %v", result, c.pod(), c.server.calls[before:])
				}
				c.settle(nil)
				if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonRunning) || len(c.server.run.Status.RetriesStatus) != 0 {
					t.Errorf("the run is %s, after %d attempts", reason, len(c.server.run.Status.RetriesStatus))
				}
			})
		})
	}
}

// The cache shows a pod that waits, the server has none: it may be behind with the run,
// too, and both are asked for before anything is made.
func TestAPodThatOnlyTheCacheHasIsLookedForWithItsRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, retriedWithAClaim)
		c.settle(nil)
		c.server.freeze()
		clear(c.server.claims)
		clear(c.server.pods)
		time.Sleep(10 * time.Second)
		if result := c.reconcile(); !result.Requeue || !c.gate.doubt {
			t.Errorf("%+v, in doubt: %t", result, c.gate.doubt)
		}
		if made := c.asked("create pod"); made != 1 || len(c.server.run.Status.RetriesStatus) != 0 {
			t.Errorf("%d pods were made, and %d attempts have failed", made, len(c.server.run.Status.RetriesStatus))
		}
	})
}

// The annotation comes to the runs of a pipeline within a pipeline with all the others, and
// names claims that only some of them mount: what a pod does not mount it cannot lose.
func TestAClaimThatThePodDoesNotMountIsNotLookedFor(t *testing.T) {
	const run = `
metadata: {name: run, annotations: {millrace.dev/pipeline-claims: "src,cache"}}
spec:
  workspaces: [{name: source, persistentVolumeClaim: {claimName: src}}]
  taskSpec: {workspaces: [{name: source}], steps: [{name: a, image: x, script: x}]}
`
	unscheduled := func(message string) corev1.PodStatus {
		return corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: message}}}
	}
	for name, waits := range map[string]corev1.PodStatus{
		"nobody says for what":  {},
		"for some volume":       unscheduled("0/1 nodes are available: pod has unbound immediate PersistentVolumeClaims."),
		"for a claim not of it": unscheduled(`persistentvolumeclaim "cache" not found, persistentvolumeclaim "src" not found`),
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, run)
			c.server.claims["src"] = true
			c.settle(nil)
			c.kubelet(waits)
			time.Sleep(time.Minute)
			c.reconcile()
			if c.server.run.IsDone() || c.asked("get claim") != 1 {
				t.Errorf("it waits, %s: %d claims are looked for, and it is %+v", name, c.asked("get claim"), c.server.run.Succeeded())
			}
			delete(c.server.claims, "src")
			c.reconcile()
			if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonClaimLost) {
				t.Errorf("it waits, %s: without its own claim it is %s", name, reason)
			}
		})
	}
}
