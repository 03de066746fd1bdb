package pipelinerun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile"
)

// gate remembers doubt, as *reconcile.Gate does; the caches of the tests are where
// the server is, or frozen on purpose.
type gate struct{ doubt bool }

func (g *gate) Wrote(types.NamespacedName, reconcile.Cache, string) {}
func (g *gate) Doubt(types.NamespacedName)                          { g.doubt = true }
func (g *gate) InDoubt(types.NamespacedName) bool                   { return g.doubt }
func (g *gate) Clear(types.NamespacedName)                          { g.doubt = false }

// A cluster is a server, a controller that may be killed, and whoever runs TaskRuns,
// whose news a test tells.
type cluster struct {
	*server
	gate   *gate
	rec    *Reconciler
	done   []Done
	events []string
}

func newCluster(tb testing.TB, documents ...string) *cluster {
	tb.Helper()
	c := &cluster{server: newServer(tb, documents...)}
	c.restart()
	return c
}

func (c *cluster) restart() {
	c.gate = &gate{}
	c.thaw()
	c.rec = New(Config{Alpha: true}, Parts{
		Caches: c.cachesOf(), Client: c.server, Gate: c.gate, Recorder: c,
		Trace: Trace{Done: func(d Done) { c.done = append(c.done, d) }},
	})
}

// Event makes the cluster a Recorder.
func (c *cluster) Event(_ runtime.Object, eventType, reason, message string) {
	c.events = append(c.events, strings.TrimSpace(fmt.Sprintf("%s %s: %s", eventType, reason, message)))
}

// settle reconciles until there is nothing left to do, as a pool would: an error
// or a requeue brings the key back. crash, if not nil, is called after each error.
func (c *cluster) settle(crash func()) {
	c.t.Helper()
	for range 50 {
		before := len(c.calls)
		result, err := c.rec.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: "run"})
		c.thaw() // the caches catch up in time
		if err != nil {
			if reconcile.IsTerminal(err) {
				c.t.Fatalf("gave up: %v", err)
			}
			if crash != nil {
				crash()
			}
			continue
		}
		if len(c.calls) == before && !result.Requeue {
			return
		}
	}
	c.t.Fatal("does not settle")
}

func (c *cluster) run() *crds.PipelineRun {
	c.t.Helper()
	run := &crds.PipelineRun{}
	check(json.Unmarshal(c.objects[crds.ResourcePipelineRuns]["run"], run))
	return run
}

func (c *cluster) taskRun(name string) *crds.TaskRun {
	c.t.Helper()
	run := &crds.TaskRun{}
	raw := c.objects[crds.ResourceTaskRuns][name]
	if raw == nil {
		c.t.Fatalf("there is no TaskRun %s", name)
	}
	check(json.Unmarshal(raw, run))
	return run
}

// ends is what whoever runs TaskRuns says of one in the end.
func (c *cluster) ends(name string, status corev1.ConditionStatus, reason string) {
	c.t.Helper()
	c.patch(crds.ResourceTaskRuns, name, fmt.Sprintf(`{"status":{"conditions":[{"type":"Succeeded","status":%q,"reason":%q}]}}`, status, reason))
}

const oneTask = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - name: a
      taskSpec: {steps: [{image: busybox, script: exit 0}]}
`

const twoTasks = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - name: a
      taskSpec:
        results: [{name: r}]
        steps: [{image: busybox, script: exit 0}]
    - name: b
      params: [{name: p, value: $(tasks.a.results.r)}]
      taskSpec:
        params: [{name: p}]
        steps: [{image: busybox, script: echo $(params.p)}]
`

// A run of one task costs four writes, and no reads.
func TestCallsOfARunOfOneTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		time.Sleep(time.Second)
		c.settle(nil)
		want := []string{"patch pipelinerun", "patch pipelinerun/status", "create taskrun run-a", "patch pipelinerun/status", "patch pipelinerun/status"}
		if !slices.Equal(c.calls, want) {
			t.Errorf("calls:\n%s", strings.Join(c.calls, "\n"))
		}
		if run := c.run(); !run.IsSuccessful() {
			t.Errorf("the run ends with %+v", run.Succeeded())
		}
		wantDone := []Done{{Key: types.NamespacedName{Namespace: "default", Name: "run"}, Status: "True", Reason: "Succeeded", Duration: time.Second}}
		if !slices.Equal(c.done, wantDone) {
			t.Errorf("told of the end: %+v", c.done)
		}
	})
}

// Kubernetes events tell of each condition, in Tekton's words.
func TestEventsTellOfEachCondition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.ends("run-a", corev1.ConditionFalse, "StepFailed")
		c.settle(nil)
		want := []string{
			"Normal Started:",
			"Normal Running: Tasks Completed: 0 (Failed: 0, Cancelled 0), Incomplete: 1, Skipped: 0",
			"Warning Failed: Tasks Completed: 1 (Failed: 1, Cancelled 0), Skipped: 0",
		}
		if !slices.Equal(c.events, want) {
			t.Errorf("events:\n%s", strings.Join(c.events, "\n"))
		}
	})
}

// Whatever happens to any one call, and whether the controller survives it or not, the
// run ends as it would have, and no task has two runs: names follow from the run, and
// what the server has already is adopted by the UID of its owner.
func TestAnyCallMayFailAndNoTaskRunsTwice(t *testing.T) {
	faults := map[string]fault{"lost request": lostRequest, "lost reply": lostReply, "conflict": conflict, "overload": overloaded, "forbidden": forbidden}
	for name, f := range faults {
		for _, crash := range []bool{false, true} {
			for n := range 12 {
				t.Run(fmt.Sprintf("%s of call %d, crash %v", name, n, crash), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						c := newCluster(t, twoTasks)
						c.faults[n] = f
						c.onFault = func() { c.frozen = true }
						again := func() {
							if crash {
								c.restart()
							}
						}
						c.settle(again)
						first := c.taskRun("run-a").UID
						c.patch(crds.ResourceTaskRuns, "run-a", `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
						c.ends("run-a", corev1.ConditionTrue, "Succeeded")
						c.settle(again)
						second := c.taskRun("run-b")
						c.ends("run-b", corev1.ConditionTrue, "Succeeded")
						c.settle(again)
						if run := c.run(); !run.IsSuccessful() || len(run.Status.ChildReferences) != 2 {
							t.Errorf("the run ends with %+v and %+v", run.Succeeded(), run.Status.ChildReferences)
						}
						if len(c.objects[crds.ResourceTaskRuns]) != 2 || c.taskRun("run-a").UID != first {
							t.Errorf("there are other TaskRuns than two: %d", len(c.objects[crds.ResourceTaskRuns]))
						}
						if got := second.Spec.Params[0].Value.StringVal; got != "x" {
							t.Errorf("the second task was given %q", got)
						}
					})
				})
			}
		}
	}
}

// A child that the cache does not show yet is not made again, neither after a restart
// on a cache that is old, nor when the status has not got as far as to name it.
func TestAStaleCacheMakesNoSecondChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		made := c.taskRun("run-a").UID
		// Somebody restores the run's status to what it was before the child.
		c.patch(crds.ResourcePipelineRuns, "run", `{"status":{"childReferences":null}}`)
		raw := c.objects[crds.ResourceTaskRuns]["run-a"]
		c.remove(crds.ResourceTaskRuns, "run-a")
		c.frozen = true
		c.put(crds.ResourceTaskRuns, "run-a", raw) // on the server, not in the cache
		c.settle(nil)
		if c.taskRun("run-a").UID != made || len(c.objects[crds.ResourceTaskRuns]) != 1 {
			t.Error("there is another child")
		}
		if refs := c.run().Status.ChildReferences; len(refs) != 1 || refs[0].Name != "run-a" {
			t.Errorf("children: %+v", refs)
		}
	})
}

// Somebody else's TaskRun of the child's name is not taken over, and the run says so.
func TestAStrangersTaskRunIsNotAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask, "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: run-a}, spec: {taskSpec: {steps: [{image: x}]}}}")
		c.settle(nil)
		run := c.run()
		if !run.IsFailed() || run.Succeeded().Reason != string(crds.PipelineRunReasonCreateRunFailed) {
			t.Errorf("the run is at %+v", run.Succeeded())
		}
		if len(c.taskRun("run-a").OwnerReferences) != 0 {
			t.Error("the stranger was touched")
		}
	})
}

// The child of a PipelineRun that had the name before is waited for until it has gone,
// since it will; then the run goes on.
func TestTheChildOfAnEarlierRunIsWaitedFor(t *testing.T) {
	for name, owner := range map[string]string{
		"of an earlier run of the name": `ownerReferences: [{apiVersion: tekton.dev/v1, kind: PipelineRun, name: run, uid: before, controller: true}]`,
		"a stranger that is going":      `deletionTimestamp: "2026-01-01T00:00:00Z"`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask, "{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: run-a, "+owner+"}, spec: {taskSpec: {steps: [{image: x}]}}}")
				for range 3 {
					result, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"})
					if err != nil || result.RequeueAfter == 0 {
						t.Fatalf("%+v %v", result, err)
					}
				}
				if run := c.run(); run.IsDone() || !strings.Contains(run.Succeeded().Message, "has not gone yet") {
					t.Errorf("the run is at %+v", run.Succeeded())
				}
				before := c.taskRun("run-a").UID
				c.remove(crds.ResourceTaskRuns, "run-a")
				c.settle(nil)
				if c.taskRun("run-a").UID == before {
					t.Error("the child is the earlier one")
				}
			})
		})
	}
}

// A pipeline that does not fit into an object fails its run clearly, with a condition
// that does fit.
func TestARunTooLargeForTheServerFailsClearly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, strings.Replace(oneTask, "    tasks:", "    description: "+strings.Repeat("x", 3000)+"\n    tasks:", 1))
		c.room = len(c.objects[crds.ResourcePipelineRuns]["run"]) + 2000 // for a status, but not for one with the pipeline in it
		c.settle(nil)
		run := c.run()
		if !run.IsFailed() || !strings.Contains(run.Succeeded().Message, "too large") {
			t.Errorf("the run is at %+v", run.Succeeded())
		}
	})
}

// A run that is not what its type says is told so, and is not tried for ever.
func TestAnUnreadableRunIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, strings.Replace(oneTask, "spec:", "spec:\n  timeouts: {pipeline: soon}", 1))
		c.settle(nil)
		var head Head
		check(json.Unmarshal(c.objects[crds.ResourcePipelineRuns]["run"], &head))
		if condition, ok := head.Status.Conditions.Get("Succeeded"); !ok || condition.Status != "False" || !strings.Contains(condition.Message, "soon") {
			t.Errorf("the run is at %+v", condition)
		}
	})
}

// A refusal that the author of the run can mend ends it, and one that time mends is
// waited for.
func TestRefusalsOfChildren(t *testing.T) {
	for name, c := range map[string]struct {
		refuse error
		failed bool
	}{
		"wrong in itself": {apierrors.NewInvalid(schema.GroupKind{}, "run-a", nil), true},
		"a quota":         {apierrors.NewForbidden(schema.GroupResource{}, "run-a", errors.New("exceeded quota: count/taskruns.tekton.dev")), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := newCluster(t, oneTask)
				cluster.refuse = c.refuse
				for range 3 {
					_, _ = cluster.rec.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: "run"})
				}
				if run := cluster.run(); run.IsFailed() != c.failed {
					t.Errorf("the run is at %+v", run.Succeeded())
				}
				if c.failed {
					return
				}
				cluster.refuse = nil
				cluster.settle(nil)
				cluster.taskRun("run-a")
			})
		})
	}
}

// A cancelled run stops its children by their UID, and one that has been made anew
// meanwhile is not stopped.
func TestCancelStopsChildrenByTheirUID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"}}`)
		c.settle(nil)
		if child := c.taskRun("run-a"); !child.IsCancelled() || child.Spec.StatusMessage == "" {
			t.Errorf("the child is asked %q, %q", child.Spec.Status, child.Spec.StatusMessage)
		}
		c.ends("run-a", corev1.ConditionFalse, "TaskRunCancelled")
		c.settle(nil)
		if run := c.run(); run.Succeeded().Reason != "Cancelled" || !run.IsDone() {
			t.Errorf("the run is at %+v", run.Succeeded())
		}
	})
}

// A child that has ended, as the server knows and the cache does not yet, is not asked
// to stop: it is over, and not written any more.
func TestAChildThatHasEndedIsNotAskedToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"}}`)
		c.frozen = true
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		if child := c.taskRun("run-a"); child.Spec.Status != "" {
			t.Errorf("the child, which had ended, is asked %q", child.Spec.Status)
		}
		if run := c.run(); !run.IsDone() {
			t.Errorf("the run is at %+v", run.Succeeded())
		}
	})
}

// What is over is not decoded again: not at a resync, and not when its children go.
func TestWhatIsSettledIsNotDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		decodes, calls := c.decodedPRs, len(c.calls)
		for range 3 {
			c.settle(nil)
		}
		c.remove(crds.ResourceTaskRuns, "run-a")
		c.settle(nil)
		if c.decodedPRs != decodes || len(c.calls) != calls {
			t.Errorf("%d decodes and %d calls for a run that is done", c.decodedPRs-decodes, len(c.calls)-calls)
		}
	})
}

// A run that nobody else has touched is decoded once, however many children end; one
// that somebody has, once more.
func TestARunIsDecodedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, twoTasks)
		c.settle(nil)
		c.patch(crds.ResourceTaskRuns, "run-a", `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		if c.decodedPRs != 1 || c.decodedTRs != 1 {
			t.Errorf("the run was decoded %d times, its children %d times", c.decodedPRs, c.decodedTRs)
		}
		c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"StoppedRunFinally"}}`)
		c.settle(nil)
		c.ends("run-b", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		if c.decodedPRs != 3 { // and once when it was done, and forgotten
			t.Errorf("the run was decoded %d times", c.decodedPRs)
		}
		if n := len(c.rec.memory.runs); n != 0 {
			t.Errorf("%d runs are remembered that have ended", n)
		}
	})
}

// What is remembered is what decoding would give: a run whose controller never restarts
// ends as one whose controller does at each step.
func TestWhatIsRememberedIsWhatIsThere(t *testing.T) {
	end := func(restart bool) (run *crds.PipelineRun) {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, twoTasks)
			for _, task := range []string{"run-a", "run-b"} {
				c.settle(nil)
				if restart {
					c.restart()
				}
				c.patch(crds.ResourceTaskRuns, task, `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
				c.ends(task, corev1.ConditionTrue, "Succeeded")
			}
			c.settle(nil)
			run = c.run()
			run.ManagedFields = nil
		})
		return run
	}
	if diff := cmp.Diff(end(true).Status, end(false).Status); diff != "" {
		t.Errorf("with restarts (-), without (+):\n%s", diff)
	}
}

var runKey = types.NamespacedName{Namespace: "default", Name: "run"}

func overQuota(what string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: what}, "x", errors.New("exceeded quota: "+what))
}

const withClaim = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  workspaces: [{name: w, volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}]
  pipelineSpec:
    workspaces: [{name: w}]
    tasks:
    - name: a
      workspaces: [{name: w}]
      taskSpec: {workspaces: [{name: w}], steps: [{image: busybox}]}
`

// A claim that a quota does not allow is asked for once in a while, with the reason in
// the condition, and no task begins without it.
func TestARefusedClaimIsToldAndWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, withClaim)
		c.refuseClaims = overQuota("persistentvolumeclaims")
		result, err := c.rec.Reconcile(t.Context(), runKey)
		if err != nil || result.RequeueAfter == 0 {
			t.Errorf("%+v, %v", result, err)
		}
		if message := c.run().Succeeded().Message; !strings.Contains(message, "exceeded quota: persistentvolumeclaims") {
			t.Errorf("the run says %q", message)
		}
		if asked := len(c.calls) - len(slices.DeleteFunc(slices.Clone(c.calls), func(call string) bool { return call == "create claim" })); asked != 1 {
			t.Errorf("the claim was asked for %d times", asked)
		}
		if len(c.made) > 0 {
			t.Errorf("%v were made without their volume", c.made)
		}
		c.refuseClaims = nil
		c.settle(nil)
		if len(c.made) != 1 || len(c.claims) != 1 {
			t.Errorf("made %v with claims %v", c.made, c.claims)
		}
	})
}

const sameName = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - name: a
      matrix: {params: [{name: p, value: [one, two]}]}
      taskSpec: {params: [{name: p}], steps: [{image: busybox}]}
    - name: a-0
      taskSpec: {steps: [{image: busybox}]}
`

// Two tasks whose runs would have one name: the one that comes second is not taken for
// done by the run of the other.
func TestATaskDoesNotTakeTheRunOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, sameName)
		c.settle(nil)
		for _, name := range c.made {
			c.ends(name, corev1.ConditionTrue, "Succeeded")
		}
		c.settle(nil)
		run := c.run()
		if run.IsSuccessful() {
			t.Errorf("the run has succeeded with %v: %+v", c.made, run.Status.ChildReferences)
		}
		if condition := run.Succeeded(); condition.Reason != string(crds.PipelineRunReasonCreateRunFailed) || !strings.Contains(condition.Message, "run-a-0") {
			t.Errorf("the run is at %+v", condition)
		}
	})
}

// What a child has left is read where its end was seen: a cache that is between the two
// has the child without results.
func TestResultsAreReadWhereTheEndWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, twoTasks)
		c.settle(nil)
		old := *c.taskRun("run-a")
		raw := c.objects[crds.ResourceTaskRuns]["run-a"]
		c.remove(crds.ResourceTaskRuns, "run-a")
		c.frozen = true
		c.put(crds.ResourceTaskRuns, "run-a", raw)
		c.patch(crds.ResourceTaskRuns, "run-a", `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.rec.parts.Caches.TaskRun = func(types.NamespacedName) (crds.TaskRun, bool, error) { return old, true, nil }
		if _, err := c.rec.Reconcile(t.Context(), runKey); err != nil {
			t.Fatal(err)
		}
		if run := c.run(); run.IsDone() {
			t.Errorf("the run is at %+v", run.Succeeded())
		}
		if c.objects[crds.ResourceTaskRuns]["run-b"] == nil {
			t.Errorf("the second task has not begun: %v", c.calls)
		}
	})
}

// A run in doubt is told by the server that a child has ended, and its results are not
// read from a cache that has not come to that (seed 1270).
func TestResultsAreNotThoseOfAnOlderState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, twoTasks)
		c.settle(nil)
		c.frozen = true
		c.patch(crds.ResourceTaskRuns, "run-a", `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.gate.doubt = true
		if _, err := c.rec.Reconcile(t.Context(), runKey); err != nil {
			t.Fatal(err)
		}
		if run := c.run(); run.IsDone() || c.objects[crds.ResourceTaskRuns]["run-b"] == nil {
			t.Errorf("the run is at %+v: %v", run.Succeeded(), c.calls)
		}
	})
}

// The run of a combination that has lost its label before anybody wrote it down is known
// by its name, and not tried to be made again and again (seed 1546).
func TestHalfOfAMatrixWithoutItsLabelIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: [v, w]}]}, taskSpec: {params: [{name: p}], steps: [{image: x}]}}]}}}")
		c.settle(nil)
		c.patch(crds.ResourceTaskRuns, "run-a-0", `{"metadata":{"labels":null}}`)
		c.patch(crds.ResourcePipelineRuns, "run", `{"status":{"childReferences":null}}`)
		c.restart()
		before := len(c.calls)
		c.settle(nil)
		if refs := c.run().Status.ChildReferences; len(refs) != 2 || refs[0].Name != "run-a-0" || len(c.calls)-before > 1 {
			t.Errorf("%+v after %v", refs, c.calls[before:])
		}
	})
}

// A run of another controller is not remembered: its end would not be noticed.
func TestARunOfAnotherControllerIsNotRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, strings.Replace(oneTask, "spec:", "spec:\n  managedBy: example.dev/other", 1))
		c.settle(nil)
		if n := len(c.rec.memory.runs); n > 0 || len(c.calls) > 0 {
			t.Errorf("%d runs are remembered, after %v", n, c.calls)
		}
	})
}

const finallyOfMany = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - {name: a, taskSpec: {results: [{name: r}], steps: [{image: x}]}}
    - {name: b, taskSpec: {results: [{name: r}], steps: [{image: x}]}}
    - {name: c, onError: continue, taskSpec: {steps: [{image: x}]}}
    finally:
    - {name: f1, when: [{input: $(tasks.a.results.r), operator: in, values: [x]}], params: [{name: p, value: $(tasks.b.results.r)}], taskSpec: {params: [{name: p}], steps: [{image: x}]}}
    - {name: f2, when: [{input: $(tasks.a.results.r), operator: in, values: [x]}], params: [{name: p, value: $(tasks.b.results.r)}], taskSpec: {params: [{name: p}], steps: [{image: x}]}}
    - {name: f3, when: [{input: $(tasks.a.results.r), operator: in, values: [x]}], params: [{name: p, value: $(tasks.b.results.r)}], taskSpec: {params: [{name: p}], steps: [{image: x}]}}
`

// However much there is to find out before, and to be refused, a reconcile gets as far as
// to tell of it: here a child is gone, a condition and then a parameter have a result, and
// three children are over quota.
func TestAReconcileGetsAsFarAsToTellOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, finallyOfMany)
		c.settle(nil)
		for _, name := range []string{"run-a", "run-b"} {
			c.patch(crds.ResourceTaskRuns, name, `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
			c.ends(name, corev1.ConditionTrue, "Succeeded")
		}
		c.remove(crds.ResourceTaskRuns, "run-c")
		c.refuse = overQuota("taskruns")
		result, err := c.rec.Reconcile(t.Context(), runKey)
		if err != nil || result.RequeueAfter == 0 {
			t.Errorf("%+v, %v, after %v", result, err, c.calls)
		}
		if message := c.run().Succeeded().Message; !strings.Contains(message, "exceeded quota: taskruns") {
			t.Errorf("the run says %q", message)
		}
	})
}

// The question of a run of the name that was here before may stay behind, when its run was
// deleted and nothing else: the new run says what it waits for, and asks ever more rarely.
func TestARequestOfAnEarlierRunIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineRef: {resolver: git, params: [{name: url, value: x}]}}}")
		c.rec.config.Resolver = func(string) bool { return true }
		if _, err := c.rec.Reconcile(t.Context(), runKey); err != nil {
			t.Fatal(err)
		}
		var left string
		for left = range c.objects[crds.ResourceResolutionRequests] {
			c.patch(crds.ResourceResolutionRequests, left, `{"metadata":{"ownerReferences":null}}`)
		}
		time.Sleep(time.Minute)
		result, err := c.rec.Reconcile(t.Context(), runKey)
		if err != nil || result.RequeueAfter < 10*time.Second {
			t.Errorf("after a minute: %+v, %v", result, err)
		}
		if message := c.run().Succeeded().Message; !strings.Contains(message, "has not gone yet") {
			t.Errorf("the run says %q", message)
		}
		c.remove(crds.ResourceResolutionRequests, left)
		if _, err := c.rec.Reconcile(t.Context(), runKey); err != nil || c.objects[crds.ResourceResolutionRequests][left] == nil {
			t.Errorf("%v, after %v", err, c.calls)
		}
	})
}

const chain = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - {name: a, taskSpec: {steps: [{image: busybox}]}}
    - {name: b, runAfter: [a], taskSpec: {steps: [{image: busybox}]}}
    - {name: c, runAfter: [b], taskSpec: {steps: [{image: busybox}]}}
`

// A reference to a child is put behind those that there are. When the run was written by
// somebody else meanwhile, in whatever way, it is looked at again: no reference is lost
// or there twice, and no refusal of the one patch is taken for one of the status.
func TestAReferenceIsAppendedOnce(t *testing.T) {
	for name, meddle := range map[string]string{
		"nobody":       "",
		"an annotator": `{"metadata":{"annotations":{"a":"b"}}}`,
		"a vandal":     `{"status":{"childReferences":null}}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, chain)
			c.settle(nil)
			for _, child := range []string{"run-a", "run-b", "run-c"} {
				before := len(c.calls)
				c.ends(child, corev1.ConditionTrue, "Succeeded")
				if c.frozen = meddle != ""; c.frozen {
					c.patch(crds.ResourcePipelineRuns, "run", meddle)
				}
				c.settle(nil)
				writes := 0
				for _, call := range c.calls[before:] {
					if call == "patch pipelinerun/status" {
						writes++
					}
				}
				if meddle == "" && writes != 1 {
					t.Errorf("%d writes of the status after %s", writes, child)
				}
			}
			var names []string
			for _, ref := range c.run().Status.ChildReferences {
				names = append(names, ref.Name)
			}
			slices.Sort(names)
			want := []string{"run-a", "run-b", "run-c"}
			if !slices.Equal(names, want) || len(c.done) != 1 || c.done[0].Status != corev1.ConditionTrue || c.appends == 0 {
				t.Errorf("%s: %v, %+v, %d appends", name, names, c.done, c.appends)
			}
		})
	}
}

// A child that is there and that no cache shows yet is found, although the server, asked
// to make it, says something else than that.
func TestARefusalOfWhatIsThereIsNoEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.patch(crds.ResourcePipelineRuns, "run", `{"status":{"childReferences":null}}`)
		raw := c.objects[crds.ResourceTaskRuns]["run-a"]
		c.remove(crds.ResourceTaskRuns, "run-a")
		c.frozen = true
		c.put(crds.ResourceTaskRuns, "run-a", raw) // on the server, not in the cache
		c.refuse = apierrors.NewBadRequest("the webhook wants a label")
		c.settle(nil)
		if run := c.run(); run.IsDone() || len(run.Status.ChildReferences) != 1 {
			t.Errorf("%+v", run.Status)
		}
		if n := len(c.made); n != 1 {
			t.Errorf("%d were made", n)
		}
	})
}

// A run that is cancelled while the cache of TaskRuns stands still asks the server for
// its children: it stops them, and does not end before they have (seed 207873).
func TestAChildThatNoCacheShowsIsStoppedToo(t *testing.T) {
	for name, label := range map[string]string{"as it was made": `{}`, "without its label": `{"metadata":{"labels":{"tekton.dev/pipelineRun":null}}}`} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask)
				c.settle(nil)
				seen := label != `{}` // who has lost its label is found by the cache alone
				raw := must(jsonpatch.MergePatch(c.objects[crds.ResourceTaskRuns]["run-a"], []byte(label)))
				c.remove(crds.ResourceTaskRuns, "run-a")
				c.frozen = !seen
				c.put(crds.ResourceTaskRuns, "run-a", raw)
				// What was to name the child was refused, since somebody cancelled the run.
				c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"},"status":{"childReferences":null}}`)
				c.gate.doubt = true
				if _, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"}); err != nil {
					t.Fatal(err)
				}
				if child := c.taskRun("run-a"); child.Spec.Status != crds.TaskRunSpecStatusCancelled {
					t.Errorf("the child was not asked to stop: %v", c.calls)
				}
				if c.gate.doubt {
					t.Error("it is in doubt still")
				}
				c.settle(nil)
				if run := c.run(); run.IsDone() || len(run.Status.ChildReferences) != 1 {
					t.Errorf("before the child has ended: %+v", run.Status)
				}
				c.ends("run-a", corev1.ConditionFalse, "TaskRunCancelled")
				c.settle(nil)
				if run := c.run(); !run.IsDone() || len(run.Status.ChildReferences) != 1 {
					t.Errorf("after that: %+v", run.Status)
				}
			})
		})
	}
}

// A process that was started anew, and is shown an old state of the TaskRuns, is in doubt
// about nothing. A run that was cut short since then asks for its children all the same
// before it ends, and one that turns up after its task was written down without it, or as
// passed over, is waited for (seed 1051).
func TestARunThatIsCutShortAsksForItsChildren(t *testing.T) {
	const (
		one    = `{name: a, taskSpec: {steps: [{image: x}]}}`
		matrix = `{name: a, matrix: {params: [{name: p, value: [v, w]}]}, taskSpec: {params: [{name: p}], steps: [{image: x}]}}`
		failed = one + `, {name: b, taskSpec: {steps: [{image: x}]}}`
	)
	cancelled := func(how string) string { return `{"spec":{"status":"` + how + `"},"status":{"childReferences":null}}` }
	for name, story := range map[string]struct{ tasks, child, change string }{
		"cancelled":                          {one, "run-a", cancelled("Cancelled")},
		"stopped":                            {one, "run-a", cancelled("StoppedRunFinally")},
		"stopped, half of a matrix is known": {matrix, "run-a-0", cancelled("StoppedRunFinally")},
		"cancelled, one cannot be read":      {failed, "run-b", cancelled("Cancelled")},
		"another task has failed":            {failed, "run-b", `{"status":{"childReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":"run-a","pipelineTaskName":"a"}],"skippedTasks":[{"name":"b","reason":"PipelineRun was stopping"}]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, "{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: {tasks: ["+story.tasks+"]}}}")
				c.settle(nil)
				raw, others := c.objects[crds.ResourceTaskRuns][story.child], len(c.objects[crds.ResourceTaskRuns])-1
				c.remove(crds.ResourceTaskRuns, story.child)
				c.patch(crds.ResourcePipelineRuns, "run", story.change)
				if others == 1 {
					other := "run-a"
					if story.tasks == matrix {
						other = "run-a-1"
					}
					c.ends(other, corev1.ConditionFalse, "Failed")
				}
				if strings.Contains(name, "cannot be read") {
					c.patch(crds.ResourceTaskRuns, "run-a", `{"spec":{"retries":"many"}}`)
				}
				c.restart()
				c.frozen = true
				c.put(crds.ResourceTaskRuns, story.child, raw)
				for range 5 {
					if _, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"}); err != nil {
						t.Fatal(err)
					}
				}
				if run := c.run(); run.IsDone() || len(run.Status.ChildReferences) != 1+others || len(run.Status.SkippedTasks) != 0 {
					t.Errorf("before the child has ended: %+v\n%s", run.Status, strings.Join(c.calls, "\n"))
				}
				c.thaw()
				c.ends(story.child, corev1.ConditionFalse, "TaskRunCancelled")
				c.settle(nil)
				if run := c.run(); !run.IsDone() || len(run.Status.ChildReferences) != 1+others {
					t.Errorf("after that: %+v", run.Status)
				}
			})
		})
	}
}

// A run that cannot go on ends at once, and asks what it has begun to stop: also what no
// cache shows yet, since nobody looks at it again once the run has ended.
func TestARunThatCannotGoOnStopsWhatNoCacheShows(t *testing.T) {
	for name, damage := range map[string]string{
		"its pipeline has been made nonsense": `{"status":{"pipelineSpec":{"tasks":[{"name":"a","runAfter":["a"],"taskSpec":{"steps":[{"image":"x"}]}}]}}}`,
		"it cannot be read":                   `{"spec":{"params":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneTask)
				c.settle(nil)
				raw := c.objects[crds.ResourceTaskRuns]["run-a"]
				c.remove(crds.ResourceTaskRuns, "run-a")
				c.patch(crds.ResourcePipelineRuns, "run", damage)
				c.restart()
				c.frozen = true
				c.put(crds.ResourceTaskRuns, "run-a", raw)
				c.calls = nil
				if _, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"}); err != nil {
					t.Fatal(err)
				}
				if child := c.taskRun("run-a"); child.Spec.Status != crds.TaskRunSpecStatusCancelled {
					t.Errorf("it was not asked to stop:\n%s", strings.Join(c.calls, "\n"))
				}
				if end := slices.Index(c.calls, "patch pipelinerun/status"); end < slices.Index(c.calls, "cancel taskruns run-a") {
					t.Errorf("the run ends before that, or not at all: %v", c.calls)
				}
			})
		})
	}
}

// A run is in doubt, and its children are asked for; then one is made, and the name of the
// other is somebody else's for good, which ends the run at once. The first is asked to stop before that is written: should the process die
// then, the next one may be shown the end of the run and not the child, and has nothing to
// stop.
func TestAChildOfAMomentAgoIsStoppedBeforeItsRunEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}, {name: b, taskSpec: {steps: [{image: x}]}}]}}}`,
			`{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: run-b}, spec: {taskSpec: {steps: [{image: x}]}}}`)
		for range 3 {
			c.gate.doubt = true // the server is asked for children before the first is made
			if _, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"}); err != nil {
				t.Fatal(err)
			}
			if c.run().IsDone() {
				break
			}
		}
		if reason := c.run().Succeeded().Reason; reason != string(crds.PipelineRunReasonCreateRunFailed) {
			t.Fatalf("the run ends with %q:\n%s", reason, strings.Join(c.calls, "\n"))
		}
		if child := c.taskRun("run-a"); child.Spec.Status != crds.TaskRunSpecStatusCancelled {
			t.Errorf("its child was not asked to stop by then:\n%s", strings.Join(c.calls, "\n"))
		}
	})
}

// A process that was started anew, and is shown an old state of the run, asks the server
// for the run before it begins a task: the one before it may have ended the run, or may
// have been told to begin no more, and no child is then made of which the status will
// never tell. It asks once, and not where nothing is to begin.
func TestNoTaskBeginsOnTheWordOfAnOldCache(t *testing.T) {
	const (
		run   = `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}, {name: b, runAfter: [a], taskSpec: {steps: [{image: x}]}}], finally: [{name: c, taskSpec: {steps: [{image: x}]}}]}}}`
		ended = `{"spec":{"status":"Cancelled"},"status":{"completionTime":"2000-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"False","reason":"Cancelled"}]}}`
	)
	for name, story := range map[string]struct {
		change func(*cluster) // while nobody is there, and after which the cache is behind
		made   int
	}{
		"nothing has happened": {func(*cluster) {}, 3},
		"it has ended":         {func(c *cluster) { c.patch(crds.ResourcePipelineRuns, "run", ended) }, 1},
		"it is to be cancelled": {func(c *cluster) {
			c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"}}`)
		}, 1},
		"it is to stop": {func(c *cluster) {
			c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"StoppedRunFinally"}}`)
		}, 2},
		"it is gone": {func(c *cluster) { c.remove(crds.ResourcePipelineRuns, "run") }, 1},
		"it is another of its name": {func(c *cluster) {
			c.remove(crds.ResourcePipelineRuns, "run")
			c.apply(run)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, run)
				c.settle(nil)
				c.restart()
				c.settle(nil) // a task goes on, and nothing is to begin
				if slices.Contains(c.calls, "get pipelineruns run") {
					t.Errorf("it asks with nothing to begin: %v", c.calls)
				}
				c.calls = nil
				c.ends("run-a", corev1.ConditionTrue, "Succeeded")
				c.frozen = true
				story.change(c)
				if _, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"}); err != nil {
					t.Fatal(err)
				}
				if asked := slices.Index(c.calls, "get pipelineruns run"); asked != 0 {
					t.Errorf("it begins with %v", c.calls)
				}
				if name == "it is gone" || name == "it is another of its name" {
					if len(c.calls) != 1 {
						t.Errorf("and then: %v", c.calls)
					}
					return
				}
				c.thaw()
				for _, child := range []string{"run-b", "run-c"} {
					c.settle(nil)
					if c.objects[crds.ResourceTaskRuns][child] != nil {
						c.ends(child, corev1.ConditionTrue, "Succeeded")
					}
				}
				c.settle(nil)
				if run := c.run(); len(c.made) != story.made || !run.IsDone() || len(run.Status.ChildReferences) != story.made {
					t.Errorf("%v were made, %+v", c.made, run.Status)
				}
				if asked := slices.DeleteFunc(slices.Clone(c.calls), func(call string) bool { return call != "get pipelineruns run" }); len(asked) != 1 {
					t.Errorf("it asks %d times: %v", len(asked), c.calls)
				}
			})
		})
	}
}

// Whose status was erased on the server, or restored to before the start, begins again
// with what there is: its pipeline is looked for, and what had begun goes on.
func TestARunWhoseStatusIsGoneFromTheServerBeginsAgain(t *testing.T) {
	const (
		pipeline = `{apiVersion: tekton.dev/v1, kind: Pipeline, metadata: {name: p}, spec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}, {name: b, runAfter: [a], taskSpec: {steps: [{image: x}]}}]}}`
		run      = `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineRef: {name: p}}}`
	)
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pipeline, run)
		c.settle(nil)
		c.restart()
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.frozen = true
		c.patch(crds.ResourcePipelineRuns, "run", `{"status":null}`)
		c.settle(nil)
		if run := c.run(); run.IsDone() || !slices.Equal(c.made, []string{"run-a", "run-b"}) {
			t.Fatalf("%v were made, %+v", c.made, run.Succeeded())
		}
		c.ends("run-b", corev1.ConditionTrue, "Succeeded")
		c.settle(nil)
		if run := c.run(); run.Succeeded().Status != corev1.ConditionTrue || len(run.Status.ChildReferences) != 2 {
			t.Errorf("%+v", run.Status)
		}
	})
}

// An answer that cannot be read confirms nothing: the server is asked again.
func TestAGarbledAnswerConfirmsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{image: x}]}}, {name: b, runAfter: [a], taskSpec: {steps: [{image: x}]}}]}}}`)
		c.settle(nil)
		c.restart()
		c.ends("run-a", corev1.ConditionTrue, "Succeeded")
		c.frozen = true
		c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"}}`)
		c.calls, c.faults = nil, map[int]fault{0: garbled}
		if _, err := c.rec.Reconcile(t.Context(), types.NamespacedName{Namespace: "default", Name: "run"}); err == nil || reconcile.IsTerminal(err) {
			t.Errorf("it ends with %v", err)
		}
		if !slices.Equal(c.calls, []string{"get pipelineruns run"}) {
			t.Errorf("it asks, and then: %v", c.calls)
		}
		c.faults = nil
		c.settle(nil)
		if run := c.run(); run.Succeeded().Reason != "Cancelled" || len(c.made) != 1 {
			t.Errorf("%v were made, %+v", c.made, run.Succeeded())
		}
	})
}

// A run that was deleted while its cache stands still has its children collected: they
// are not made again on the word of that cache (seed 481).
func TestNothingIsMadeForARunThatTheServerHasNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneTask)
		c.settle(nil)
		c.frozen = true
		c.remove(crds.ResourcePipelineRuns, "run") // and the cache does not know
		c.frozen = false
		c.remove(crds.ResourceTaskRuns, "run-a")
		c.frozen = true
		c.gate.doubt = true
		key := types.NamespacedName{Namespace: "default", Name: "run"}
		asked := len(c.calls)
		for range 10 { // each a reason to look: an event, and time that goes by
			result, err := c.rec.Reconcile(t.Context(), key)
			if err != nil || result.RequeueAfter <= 0 {
				t.Fatalf("%+v %v", result, err)
			}
			time.Sleep(result.RequeueAfter / 2)
		}
		if len(c.objects[crds.ResourceTaskRuns]) != 0 {
			t.Errorf("%v were made for it: %v", c.objects[crds.ResourceTaskRuns], c.calls)
		}
		for _, call := range c.calls[asked:] {
			if call != "get pipelineruns run" {
				t.Errorf("%s, of a run that is gone", call)
			}
		}
		c.thaw()
		if result, err := c.rec.Reconcile(t.Context(), key); err != nil || result != (reconcile.Result{}) {
			t.Errorf("when the cache knows: %+v %v", result, err)
		}
	})
}

// A child that was deleted is looked for on the server once, and not at each look.
func TestADeletedChildIsLookedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - {name: a, onError: continue, taskSpec: {steps: [{image: busybox}]}}
    - {name: b, taskSpec: {steps: [{image: busybox}]}}
    - {name: c, runAfter: [b], taskSpec: {steps: [{image: busybox}]}}
`)
		c.settle(nil)
		c.remove(crds.ResourceTaskRuns, "run-a")
		for _, name := range []string{"run-b", "run-c"} {
			c.settle(nil)
			c.ends(name, corev1.ConditionTrue, "Succeeded")
			c.settle(nil)
		}
		if asked := slices.DeleteFunc(slices.Clone(c.calls), func(call string) bool { return call != "get taskruns run-a" }); len(asked) != 1 {
			t.Errorf("it was asked for %d times in %v", len(asked), c.calls)
		}
		if got := c.run().Succeeded(); got.Status != corev1.ConditionTrue {
			t.Errorf("%+v", got)
		}
	})
}
