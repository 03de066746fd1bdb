package taskrun

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

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/reconcile"
)

// gate remembers doubt, as *reconcile.Gate does.
type gate struct {
	openGate
	doubt bool
}

func (g *gate) Doubt(types.NamespacedName)        { g.doubt = true }
func (g *gate) InDoubt(types.NamespacedName) bool { return g.doubt }
func (g *gate) Clear(types.NamespacedName)        { g.doubt = false }

// A cluster is a server, a controller that may be killed, and a kubelet whose
// news a scenario tells.
type cluster struct {
	t      *testing.T
	server *server
	gate   *gate
	rec    *Reconciler
	done   []Done
}

func newCluster(t *testing.T, run string) *cluster {
	t.Helper()
	var taskRun crds.TaskRun
	if err := yaml.UnmarshalStrict([]byte(run), &taskRun); err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, server: newServer(&taskRun)}
	c.restart()
	return c
}

func (c *cluster) restart() {
	c.gate = &gate{}
	c.server.frozen = nil
	c.rec = New(Config{EntrypointImage: "entry"}, Parts{
		Caches: c.server.caches(),
		Client: c.server,
		Gate:   c.gate,
		Trace:  Trace{Done: func(d Done) { c.done = append(c.done, d) }},
	})
}

func (c *cluster) key() types.NamespacedName {
	return types.NamespacedName{Namespace: "default", Name: "run"}
}

// settle reconciles until there is nothing left to do, as a pool would: an error
// or a requeue brings the key back. crash, if not nil, is called after each error.
func (c *cluster) settle(crash func()) {
	for range 50 {
		before := len(c.server.calls)
		result, err := c.rec.Reconcile(context.Background(), c.key())
		c.server.frozen = nil // the caches catch up in time
		if err != nil {
			if reconcile.IsTerminal(err) {
				c.t.Fatalf("gave up: %v", err)
			}
			if crash != nil {
				crash()
			}
			continue
		}
		if len(c.server.calls) == before && !result.Requeue {
			if c.rec.refusals.until[c.key()].at.After(time.Now()) {
				time.Sleep(result.RequeueAfter) // nothing but time helps
				continue
			}
			return
		}
	}
	c.t.Fatal("does not settle")
}

func (c *cluster) pod() *corev1.Pod { return c.server.pods[podName(c.server.run)] }

func (c *cluster) kubelet(status corev1.PodStatus) {
	if pod := c.pod(); pod != nil {
		pod.Status = status
		c.server.setPod(pod)
	}
}

func running() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "step-a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}}
}

func ended(code int32) corev1.PodStatus {
	phase := corev1.PodSucceeded
	if code != 0 {
		phase = corev1.PodFailed
	}
	return corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "step-a", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: code, Reason: "Completed", Message: `[{"key":"StartedAt","value":"2000-01-01T00:00:00.000Z","type":3}]`,
		}},
	}}}
}

func unpullable() corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "step-a", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
	}}}
}

const oneStep = `
metadata: {name: run}
spec:
  taskSpec:
    steps:
    - {name: a, image: busybox, script: exit 0}
`

const oneStepThat = `
metadata: {name: run}
spec:
  taskSpec:
    steps:
    - {name: a, image: busybox, script: %q}
`

// A scenario is what users and the kubelet do; settle is called between.
type scenario struct {
	name     string
	play     func(c *cluster, settle func())
	status   corev1.ConditionStatus
	reason   crds.TaskRunReason
	podStays bool
	spec     string // default: oneStep
	pods     int    // default: 1
}

func scenarios() []scenario {
	return []scenario{{
		name: "success",
		play: func(c *cluster, settle func()) {
			settle()
			c.kubelet(running())
			settle()
			c.kubelet(ended(0))
			settle()
		},
		status: corev1.ConditionTrue, reason: crds.TaskRunReasonSuccessful, podStays: true,
	}, {
		name: "failure",
		play: func(c *cluster, settle func()) {
			settle()
			c.kubelet(ended(1))
			settle()
		},
		status: corev1.ConditionFalse, reason: crds.TaskRunReasonStepFailed, podStays: true,
	}, {
		name: "cancel",
		play: func(c *cluster, settle func()) {
			settle()
			c.kubelet(running())
			settle()
			c.server.user([]byte(`{"spec":{"status":"TaskRunCancelled"}}`))
			settle()
		},
		status: corev1.ConditionFalse, reason: crds.TaskRunReasonCancelled,
	}, {
		name: "image that cannot be pulled",
		play: func(c *cluster, settle func()) {
			settle()
			c.kubelet(unpullable())
			settle()
		},
		status: corev1.ConditionFalse, reason: crds.TaskRunReasonImagePullFailed,
	}, {
		name: "the third attempt",
		spec: oneStep + "  retries: 2\n", pods: 3,
		play: func(c *cluster, settle func()) {
			settle()
			c.kubelet(ended(1))
			settle()
			c.kubelet(running())
			settle()
			c.kubelet(ended(1))
			settle()
			c.kubelet(ended(0))
			settle()
		},
		status: corev1.ConditionTrue, reason: crds.TaskRunReasonSuccessful, podStays: true,
	}, {
		name: "an attempt that takes too long",
		spec: oneStep + "  retries: 1\n  timeout: 10s\n", pods: 2,
		play: func(c *cluster, settle func()) {
			settle()
			c.kubelet(running())
			settle()
			time.Sleep(11 * time.Second)
			settle()
			c.kubelet(ended(0))
			settle()
		},
		status: corev1.ConditionTrue, reason: crds.TaskRunReasonSuccessful, podStays: true,
	}}
}

func (s scenario) cluster(t *testing.T) *cluster {
	t.Helper()
	if s.spec == "" {
		return newCluster(t, oneStep)
	}
	return newCluster(t, s.spec)
}

// Whatever becomes of any one call, the run ends as it would have, with one pod
// for each attempt, and the pod gone or kept as it would have been.
func TestAnyCallMayGoWrong(t *testing.T) {
	faults := map[string]fault{"lost request": lostRequest, "lost reply": lostReply, "conflict": conflict, "overload": overloaded}
	for _, s := range scenarios() {
		calls := callsOf(t, s)
		for name, kind := range faults {
			for _, crash := range []bool{false, true} {
				for n := range calls {
					t.Run(fmt.Sprintf("%s/%s of call %d, crash %v", s.name, name, n, crash), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) { playWithFault(t, s, n, kind, crash) })
					})
				}
			}
		}
	}
}

func callsOf(t *testing.T, s scenario) (calls int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := s.cluster(t)
		s.play(c, func() { c.settle(nil) })
		calls = len(c.server.calls)
	})
	return calls
}

func playWithFault(t *testing.T, s scenario, n int, kind fault, crash bool) {
	t.Helper()
	c := s.cluster(t)
	c.server.faults[n] = kind
	c.server.onFault = c.server.freeze // the caches learn of it only later
	settle := func() {
		var onError func()
		if crash {
			onError = c.restart
		}
		c.settle(onError)
	}
	s.play(c, settle)
	condition := c.server.run.Succeeded()
	if condition.Status != s.status || condition.Reason != string(s.reason) {
		t.Errorf("Succeeded is %s %s, want %s %s", condition.Status, condition.Reason, s.status, s.reason)
	}
	if pods := max(s.pods, 1); c.server.uids != pods || len(c.server.run.Status.RetriesStatus) != pods-1 {
		t.Errorf("%d pods were made and %d attempts filed away, want %d pods", c.server.uids, len(c.server.run.Status.RetriesStatus), pods)
	}
	if stays := c.pod() != nil; stays != s.podStays {
		t.Errorf("the pod stays: %v, want %v", stays, s.podStays)
	}
	if c.server.run.Status.CompletionTime == nil || c.server.run.Status.CompletionTime.Before(c.server.run.Status.StartTime) {
		t.Errorf("from %v to %v", c.server.run.Status.StartTime, c.server.run.Status.CompletionTime)
	}
}

// A one-step run costs one pod and three writes of its status, and not one call
// for anything that it need not know.
func TestOneStepCostsFourCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		scenarios()[0].play(c, func() { c.settle(nil) })
		if len(c.server.calls) != 4 {
			t.Errorf("calls: %v", c.server.calls)
		}
	})
}

// After its end a run is not written, whatever happens to its pod or its spec.
func TestDoneIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		scenarios()[0].play(c, func() { c.settle(nil) })
		before, calls := string(c.server.raw), len(c.server.calls)
		for _, change := range []func(){
			func() { c.kubelet(ended(1)) },
			func() { delete(c.server.pods, "run-pod") },
			func() { time.Sleep(100 * time.Hour) },
			c.restart,
		} {
			change()
			c.settle(nil)
		}
		if string(c.server.raw) != before || len(c.server.calls) != calls {
			t.Errorf("calls after the end: %v", c.server.calls[calls:])
		}
	})
}

// A patch names what has changed and nothing else, and fields that this program
// does not know survive it.
func TestUnknownStatusFieldsSurvive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.server.put(must(merge(c.server.raw, []byte(`{"status":{"fromTheFuture":{"a":1}}}`))))
		scenarios()[0].play(c, func() { c.settle(nil) })
		var got struct {
			Status map[string]any `json:"status"`
		}
		check(json.Unmarshal(c.server.raw, &got))
		if got.Status["fromTheFuture"] == nil || got.Status["completionTime"] == nil {
			t.Errorf("status is %v", got.Status)
		}
	})
}

// A task may be small enough for its run and too large to be there twice, in the
// spec and in the status. Such a run ends with a word about it; where not even that
// fits, nothing is tried again and again.
func TestRunTooLargeForItsStatusFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, fmt.Sprintf(oneStepThat, strings.Repeat("x", 4000)))
		c.server.room = len(c.server.raw) + 2000
		c.settle(nil)
		condition := c.server.run.Succeeded()
		if condition.Reason != string(crds.TaskRunReasonFailedValidation) || !strings.Contains(condition.Message, "request is too large") {
			t.Errorf("Succeeded is %+v", condition)
		}
		if c.server.uids != 0 || len(c.server.calls) != 2 {
			t.Errorf("%d pods, calls %v", c.server.uids, c.server.calls)
		}

		c = newCluster(t, oneStep)
		c.server.room = len(c.server.raw)
		if _, err := c.rec.Reconcile(context.Background(), c.key()); !reconcile.IsTerminal(err) || c.gate.doubt {
			t.Errorf("%v, in doubt %v", err, c.gate.doubt)
		}
	})
}

// A run that cannot be decoded ends with a condition that says what is wrong, and
// is written once.
func TestUnreadableRunFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.server.put([]byte(`{"metadata":{"name":"run","namespace":"default","uid":"u"},"spec":{"taskSpec":{"steps":"none"}}}`))
		if _, err := c.rec.Reconcile(context.Background(), c.key()); err != nil {
			t.Fatal(err)
		}
		body := must(json.Marshal(c.server.calls[0].body))
		var got struct {
			Status struct{ Conditions []crds.Condition }
		}
		check(json.Unmarshal(body, &got))
		if len(got.Status.Conditions) != 1 || got.Status.Conditions[0].Reason != string(crds.TaskRunReasonFailedValidation) {
			t.Errorf("patch is %s", body)
		}
		c.settle(nil)
		if len(c.server.calls) != 1 {
			t.Errorf("written again: %v", c.server.calls[1:])
		}
	})
}

// A missing run, a deleted run and somebody else's run are left alone.
func TestNotOurBusiness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, change := range map[string]func(c *cluster){
			"gone": func(c *cluster) { c.server.run = nil },
			"deleting": func(c *cluster) {
				now := metav1.Now()
				c.server.run.DeletionTimestamp = &now
				c.server.store(c.server.run)
			},
			"theirs": func(c *cluster) {
				other := "kueue"
				c.server.run.Spec.ManagedBy = &other
				c.server.store(c.server.run)
			},
		} {
			c := newCluster(t, oneStep)
			change(c)
			if result, err := c.rec.Reconcile(context.Background(), c.key()); err != nil || result != (reconcile.Result{}) || len(c.server.calls) > 0 {
				t.Errorf("%s: %v %v %v", name, result, err, c.server.calls)
			}
		}
	})
}

func TestDoneIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		time.Sleep(5 * time.Second)
		c.kubelet(ended(1))
		c.settle(nil)
		want := Done{Key: c.key(), Status: corev1.ConditionFalse, Reason: "StepFailed", Duration: 5 * time.Second}
		if len(c.done) != 1 || c.done[0] != want {
			t.Errorf("told %+v, want %+v", c.done, want)
		}
	})
}

// An error of the API server that comes before a decision is handed to the queue.
func TestReadErrorsAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.gate.doubt = true
		c.server.faults[0] = lostRequest
		_, err := c.rec.Reconcile(context.Background(), c.key())
		if !errors.Is(err, errLost) || !c.gate.doubt {
			t.Errorf("err %v, in doubt %v", err, c.gate.doubt)
		}
	})
}

// After a write without an answer the caches are not believed.
func TestAfterALostReplyTheServerIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.server.faults[0] = lostReply
		c.server.onFault = c.server.freeze
		if _, err := c.rec.Reconcile(context.Background(), c.key()); !errors.Is(err, errLost) {
			t.Fatal(err)
		}
		if _, err := c.rec.Reconcile(context.Background(), c.key()); err != nil {
			t.Fatal(err)
		}
		var verbs []string
		for _, call := range c.server.calls {
			verbs = append(verbs, call.verb)
		}
		want := []string{"patch taskrun/status", "get taskrun", "get pod", "create pod"}
		if !slices.Equal(verbs, want) || c.gate.doubt {
			t.Errorf("calls %v, want %v; still in doubt: %v", verbs, want, c.gate.doubt)
		}
	})
}

// Results may be larger than what a run can hold. The run ends with a word about
// that, and without them; it is not tried again and again.
func TestResultsTooLargeForTheRunFailIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "metadata: {name: run}\nspec: {taskSpec: {results: [{name: r}], steps: [{name: a, image: x, script: x}]}}\n")
		c.settle(nil)
		c.kubelet(running())
		c.settle(nil)
		c.server.room = len(c.server.raw) + 2000
		status := ended(0)
		status.ContainerStatuses[0].State.Terminated.Message = `[{"key":"r","value":"` + strings.Repeat("x", 3000) + `","type":1},{"key":"StartedAt","value":"2000-01-01T00:00:00.000Z","type":3}]`
		c.kubelet(status)
		c.settle(nil)
		condition := c.server.run.Succeeded()
		if condition.Reason != string(crds.TaskRunReasonResultLargerThanAllowedLimit) || len(c.server.run.Status.Results) != 0 {
			t.Errorf("ends with %+v", condition)
		}
	})
}

// After a restart the cache of runs may be older than the cache of pods. A run whose
// pod has begun and is gone is not run again for that.
func TestOldNewsOfARunMakesNoPod(t *testing.T) {
	for name, gone := range map[string]bool{"its pod was deleted": false, "the run was deleted": true} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, oneStep)
			c.settle(nil)
			c.server.freeze()
			old := c.server.frozen
			c.server.frozen = nil
			c.kubelet(running())
			c.settle(nil)
			clear(c.server.pods)
			clear(old.pods)
			if gone {
				c.server.run = nil
			}
			c.restart()
			c.server.frozen = old
			_, err := c.rec.Reconcile(context.Background(), c.key())
			if err != nil || len(c.server.pods) != 0 {
				t.Errorf("%s: %d pods, %v", name, len(c.server.pods), err)
			}
			if !gone && c.server.run.Succeeded().Reason != string(crds.TaskRunReasonPodDeleted) {
				t.Errorf("%s: %+v", name, c.server.run.Succeeded())
			}
		})
	}
}

// The step is seen to begin, the write that says so is lost, and the pod is deleted
// before it is tried again.
func TestWhatWasSeenIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		c.kubelet(running())
		c.server.faults[len(c.server.calls)] = lostRequest
		if _, err := c.rec.Reconcile(context.Background(), c.key()); err == nil {
			t.Fatal("the write was not lost")
		}
		clear(c.server.pods)
		c.settle(nil)
		if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonPodDeleted) || len(c.server.pods) != 0 {
			t.Errorf("%s, with %d pods", reason, len(c.server.pods))
		}
		c.settle(nil)
		if n := len(c.rec.witness.seen); n != 0 {
			t.Errorf("%d runs are remembered that are done", n)
		}
	})
}

// The pod comes, begins and goes while its run waits its turn: the reconcile never
// sees it.
func TestPodThatCameAndWent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep)
		c.settle(nil)
		c.kubelet(running())
		last := c.pod()
		clear(c.server.pods)
		c.rec.PodGone(last, true)
		c.settle(nil)
		if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonPodDeleted) || len(c.server.pods) != 0 {
			t.Errorf("%s, with %d pods", reason, len(c.server.pods))
		}
		c.rec.PodGone(last, true) // a pod of a run that is done
		c.settle(nil)
		if n := len(c.rec.witness.seen); n != 0 {
			t.Errorf("%d runs are remembered that are done", n)
		}
	})
}

// Each attempt is filed away as its status was, with the task that it ran and how
// it was run; but copies of a large task would make the run too large to be stored.
func TestAttemptsAreFiledWhole(t *testing.T) {
	for size, filed := range map[int]bool{1: true, maxFiled / 2: false} {
		run := &crds.TaskRun{}
		check(yaml.Unmarshal(fmt.Appendf(nil, oneStepThat, strings.Repeat("x", size)), run))
		run.Spec.Retries = 2
		s := newServer(run)
		s.run.Status.TaskSpec = s.run.Spec.TaskSpec
		s.run.Status.Provenance = &crds.Provenance{FeatureFlags: map[string]any{"a": true}}
		s.run.Status.RetriesStatus = []crds.TaskRunStatus{{PodName: "first"}}
		p := decision{observation: observation{Run: s.run, PodSought: true}}.retry(s.run.Status, failure(crds.TaskRunReasonStepFailed, "x"))
		status := p.Actions[0].(PatchStatus).Status
		if n := len(status.RetriesStatus); n != 2 || status.TaskSpec == nil || status.Provenance == nil {
			t.Fatalf("%d attempts, task %v, provenance %v", n, status.TaskSpec, status.Provenance)
		}
		attempt := status.RetriesStatus[1]
		if (attempt.TaskSpec != nil) != filed || attempt.Provenance == nil || attempt.RetriesStatus != nil {
			t.Errorf("%d bytes: task %v, provenance %v, attempts %d", size, attempt.TaskSpec != nil, attempt.Provenance, len(attempt.RetriesStatus))
		}
	}
}

// The question of a run of the name that was here before may stay behind, when its run was
// deleted and nothing else: the new run says what it waits for, and then asks its own.
func TestARequestOfAnEarlierRunIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, "metadata: {name: run, namespace: default, uid: uid-1}\nspec: {taskRef: {resolver: git, params: [{name: url, value: x}]}}")
		c.rec.config.Resolver = func(string) bool { return true }
		if _, err := c.rec.Reconcile(t.Context(), c.key()); err != nil {
			t.Fatal(err)
		}
		c.server.request.OwnerReferences = nil
		time.Sleep(time.Minute)
		result, err := c.rec.Reconcile(t.Context(), c.key())
		if err != nil || result.RequeueAfter < 10*time.Second {
			t.Errorf("after a minute: %+v, %v", result, err)
		}
		if message := c.server.run.Succeeded().Message; !strings.Contains(message, "has not gone yet") {
			t.Errorf("the run says %q", message)
		}
		c.server.request = nil
		if _, err := c.rec.Reconcile(t.Context(), c.key()); err != nil || c.server.request == nil {
			t.Errorf("%v, after %v", err, c.server.calls)
		}
	})
}

// A run that is out of time has changed on the server, and the watch of runs stands still.
// That its pod is not deleted for what was observed is no reason to observe the same again:
// the server is asked, and the run ends.
func TestARunThatHasChangedBeforeItsPodIsDeletedIsReadAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, oneStep+"  timeout: 10s\n")
		c.settle(nil)
		c.kubelet(running())
		c.settle(nil)
		c.server.freeze()
		c.server.put(must(merge(c.server.raw, []byte(`{"metadata":{"annotations":{"a":"b"}}}`))))
		time.Sleep(11 * time.Second)
		if result := c.reconcile(); !result.Requeue || c.pod() == nil || !c.gate.doubt {
			t.Fatalf("%+v, in doubt: %t, the pod is there: %t", result, c.gate.doubt, c.pod() != nil)
		}
		c.reconcile()
		if reason := c.server.run.Succeeded().Reason; reason != string(crds.TaskRunReasonTimedOut) || c.pod() != nil {
			t.Errorf("the run is %s, the pod is there: %t", reason, c.pod() != nil)
		}
	})
}

// The cache shows a pod that could not mount the entrypoint's image, and had trouble for a
// moment only, or has gone since: new pods of other runs are made as before for that.
func TestImageVolumesAreGivenUpByTheServersPodAlone(t *testing.T) {
	trouble := corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
		Name: "step-a", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: waitCreateError, Message: "no such device"}},
	}}}
	for name, story := range map[string]struct {
		happens func(c *cluster)
		mode    Mode
		stays   bool
	}{
		"it has begun":     {func(c *cluster) { c.kubelet(running()) }, ModeImageVolume, true},
		"it has gone":      {func(c *cluster) { clear(c.server.pods) }, ModeImageVolume, false},
		"it is as it was":  {func(*cluster) {}, ModeInitContainer, false},
		"it still does so": {func(c *cluster) { c.kubelet(trouble) }, ModeInitContainer, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t, oneStep)
				c.settle(nil)
				c.kubelet(trouble)
				c.server.freeze()
				story.happens(c)
				c.reconcile()
				if mode, _ := c.rec.injector.mode(ModeAuto, time.Now()); mode != story.mode || (c.pod() != nil) != story.stays {
					t.Errorf("new pods get the entrypoint by %s, the pod stays: %t", mode, c.pod() != nil)
				}
			})
		})
	}
}
