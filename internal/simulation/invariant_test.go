package simulation

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A tale is a trace that a test makes up: what really happens to a store, told to
// one invariant.
type tale struct {
	*testing.T

	server *apiserver.Server
	facts  *Facts
	check  Check
	found  []string
	deaf   bool          // whoever asks does not hear the answer
	sent   time.Duration // and asked that long ago
}

const leader = "millrace-0.1"

func tell(t *testing.T, id string) *tale {
	t.Helper()
	now := time.Now()
	w := &World{begun: now, setting: Setting{RenewDeadline: 30 * time.Second, RetryPeriod: 7 * time.Second}}
	l := &tale{T: t, facts: newFacts(w)}
	l.facts.Calm = now
	for _, i := range Invariants() {
		if i.ID == id {
			l.check = i.New(l.facts, func(format string, _ ...any) { l.found = append(l.found, format) })
		}
	}
	l.server = apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) {
		e.Lost, e.Sent = e.Lost || l.deaf, e.Sent.Add(-l.sent)
		l.facts.see(e)
		if l.check.See != nil {
			l.check.See(e)
		}
	}})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: leaseName}}
	holder := "millrace-0"
	lease.Spec.HolderIdentity = &holder
	l.must(l.server.Actor(leader).Create("leases", lease))
	return l
}

func (l *tale) must(o *apiserver.Object, err error) *apiserver.Object {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
	return o
}

var (
	aRun = types.NamespacedName{Namespace: "blue", Name: "a"}
	aPod = types.NamespacedName{Namespace: "blue", Name: "a-pod"}
)

// run has a user create one.
func (l *tale) run() *apiserver.Object {
	l.Helper()
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "a", Annotations: Expect{Reason: succeeded, Work: time.Second}.annotation()}}
	run.Spec.Retries = 1
	run.Spec.Workspaces = []crds.WorkspaceBinding{{Name: "source", VolumeClaimTemplate: &corev1.PersistentVolumeClaim{}}}
	return l.must(l.server.Actor("user").Create("taskruns", run))
}

// pod has the program create one for a run.
func (l *tale) pod(name string, of *apiserver.Object) {
	l.Helper()
	l.must(l.server.Actor(leader).Create("pods", podFor(name, of)))
}

// podWith has it create one that needs a claim.
func (l *tale) podWith(claim string, of *apiserver.Object) {
	l.Helper()
	pod := podFor("a-pod", of)
	pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	l.must(l.server.Actor(leader).Create("pods", pod))
}

func podFor(name string, of *apiserver.Object) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name, OwnerReferences: controlledBy(of)}}
	pod.Spec.Containers = []corev1.Container{{Name: "step-only"}}
	return pod
}

func controlledBy(run *apiserver.Object) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "TaskRun", Name: "a", UID: run.GetUID(), Controller: &yes}}
}

// claim has it create one for a run.
func (l *tale) claim(name string, of *apiserver.Object) {
	l.Helper()
	l.must(l.server.Actor(leader).Create("persistentvolumeclaims", &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: name, OwnerReferences: controlledBy(of)},
	}))
}

// claimAgain has it create one again that is gone, for the attempt after one that came
// to this.
func (l *tale) claimAgain(phase, step string) {
	l.Helper()
	run := l.run()
	l.claim("pvc-1", run)
	l.podWith("pvc-1", run)
	l.must(l.server.Actor("kubelet").Patch("pods", "status", aPod, `{"status":{"phase":"`+phase+`","containerStatuses":[{"name":"step-only","state":{`+step+`}}]}}`))
	l.status(`{"retriesStatus":[{"podName":"a-pod","steps":[{"name":"only","container":"step-only",` + step + `}]}]}`)
	l.gone(aPod)
	l.must(l.server.Actor("user").Delete("persistentvolumeclaims", types.NamespacedName{Namespace: "blue", Name: "pvc-1"}, metav1.DeleteOptions{}))
	l.claim("pvc-1", run)
}

// removes has the program delete a pod whose first step was in that state, and its run
// come to that.
func (l *tale) removes(state, status string) {
	l.Helper()
	l.pod("a-pod", l.run())
	l.must(l.server.Actor("kubelet").Patch("pods", "status", aPod, `{"status":{"containerStatuses":[{"name":"step-only","state":{"`+state+`":{"startedAt":"2026-01-01T00:00:05Z"}}}]}}`))
	l.must(l.server.Actor(leader).Delete("pods", aPod, metav1.DeleteOptions{}))
	l.status(status)
}

func ends(reason string) string {
	return `{"podName":"a-pod","conditions":[{"type":"Succeeded","status":"False","reason":"` + reason + `"}]}`
}

// status has the program write one, as it should: with the version it knows.
func (l *tale) status(change string) {
	l.Helper()
	o, _ := l.server.Object("taskruns", aRun)
	l.must(l.server.Actor(leader).Patch("taskruns", "status", aRun, `{"metadata":{"resourceVersion":"`+o.GetResourceVersion()+`"},"status":`+change+`}`))
}

func (l *tale) succeeds() {
	l.Helper()
	l.status(`{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`)
}

// twins are a story that breaks an invariant, and the same without the breach.
type twins struct{ well, breach func(*tale) }

// planted are such stories, by the invariant's ID.
var planted = map[string][]twins{
	"I1": {{
		func(l *tale) { l.pod("a-pod", l.run()) },
		func(l *tale) { run := l.run(); l.pod("a-pod", run); l.pod("a-pod-again", run) },
	}, {
		// The pod of an attempt that is over has ended, or is on its way to.
		func(l *tale) {
			run := l.run()
			l.pod("a-pod", run)
			l.must(l.server.Actor(leader).Patch("pods", "", aPod, `{"spec":{"activeDeadlineSeconds":1}}`))
			l.status(secondAttempt)
			l.pod("a-pod-retry1", run)
		},
		func(l *tale) {
			run := l.run()
			l.pod("a-pod", run)
			l.status(secondAttempt)
			l.pod("a-pod-retry1", run)
		},
	}},
	"I2": {{
		func(l *tale) { l.run(); l.succeeds() },
		func(l *tale) { l.run() },
	}},
	"I3": {{
		func(l *tale) { run := l.run(); l.pod("a-pod", run); l.gone(aPod); l.pod("a-pod", run) },
		func(l *tale) {
			run := l.run()
			l.pod("a-pod", run)
			l.must(l.server.Actor("kubelet").Patch("pods", "status", aPod, `{"status":{"containerStatuses":[{"name":"step-only","state":{"running":{}}}]}}`))
			l.status(`{"podName":"a-pod","steps":[{"name":"only","container":"step-only","running":{"startedAt":"2026-01-01T00:00:00Z"}}]}`)
			l.gone(aPod)
			l.pod("a-pod", run)
		},
	}, {
		func(l *tale) { run := l.run(); l.status(secondAttempt); l.pod("a-pod-retry1", run) },
		func(l *tale) { run := l.run(); l.pod("a-pod-retry1", run) },
	}, {
		func(l *tale) { run := l.run(); l.claim("pvc-1", run); l.podWith("pvc-1", run) },
		func(l *tale) { l.podWith("pvc-1", l.run()) },
	}, {
		// Nothing is lost with a claim as long as no step has begun, in whatever attempt.
		func(l *tale) { l.claimAgain("Pending", `"waiting":{}`) },
		func(l *tale) {
			l.claimAgain("Failed", `"terminated":{"exitCode":1,"startedAt":"2026-01-01T00:00:00Z"}`)
		},
	}, {
		func(l *tale) { l.claim("pvc-1", l.run()) },
		func(l *tale) { run := l.run(); l.claim("pvc-1", run); l.claim("pvc-2", run) },
	}},
	"I4": {{
		func(l *tale) {
			l.run()
			l.status(`{"startTime":"2026-01-01T00:00:00Z"}`)
			l.succeeds()
		},
		func(l *tale) {
			l.run()
			l.status(`{"startTime":"2026-01-01T00:00:07Z"}`)
			l.succeeds()
		},
	}, {
		func(l *tale) { l.run(); l.status(firstAttempt); l.status(secondAttempt); l.succeeds() },
		func(l *tale) {
			l.run()
			l.status(firstAttempt)
			l.status(secondAttempt)
			l.status(`{"retriesStatus":null}`)
		},
	}, {
		func(l *tale) { l.run(); l.status(firstAttempt); l.status(secondAttempt) },
		// What had ended in the first attempt is written down as something else.
		func(l *tale) {
			l.run()
			l.status(firstAttempt)
			l.status(strings.Replace(secondAttempt, `"exitCode":1`, `"exitCode":2`, 1))
		},
	}, {
		func(l *tale) { l.run(); l.status(secondAttempt) },
		func(l *tale) { l.run(); l.status(secondAttempt); l.status(thirdAttempt) }, // one was asked for
	}, {
		func(l *tale) { l.run(); l.status(`{"taskSpec":{"steps":[{"image":"a"}]}}`); l.succeeds() },
		func(l *tale) {
			l.run()
			l.status(`{"taskSpec":{"steps":[{"image":"a"}]}}`)
			l.status(`{"taskSpec":{"steps":[{"image":"b"}]}}`)
		},
	}},
	"I5": {{
		func(l *tale) { l.run(); l.succeeds() },
		func(l *tale) { l.run(); l.succeeds(); l.status(`{"podName":"another"}`) },
	}, {
		func(l *tale) { run := l.run(); l.claim("pvc-1", run); l.pod("a-pod", run); l.succeeds() },
		func(l *tale) { run := l.run(); l.succeeds(); l.claim("pvc-1", run) },
	}, {
		func(l *tale) { l.pod("a-pod", l.run()); l.succeeds() },
		func(l *tale) { run := l.run(); l.succeeds(); l.pod("a-pod", run) },
	}},
	"I6": {{
		func(l *tale) { l.run(); l.succeeds(); l.facts.Quiet = time.Now() },
		func(l *tale) { l.run(); l.facts.Quiet = time.Now(); l.succeeds() },
	}},
	"I7": {{
		func(l *tale) { l.scraped("informer_store_objects{resource=\"pods\",tier=\"plain\"} 2\n") },
		func(l *tale) { l.scraped("informer_store_objects{resource=\"pods\",tier=\"plain\"} 3\n") },
	}},
	"I8": {{
		func(l *tale) { l.run(); l.succeeds() },
		func(l *tale) {
			l.run()
			l.must(l.server.Actor(leader).Patch("taskruns", "status", aRun, `{"status":{"podName":"a-pod"}}`))
		},
	}},
	"I9": {{
		func(l *tale) { l.facts.Stops = []Stop{{Actor: leader, Took: time.Second}} },
		func(l *tale) { l.facts.Leaks = "goroutine 7 [select]" },
	}},
	"I10": {{
		func(l *tale) { l.run(); l.scraped("workqueue_depth{name=\"taskrun\"} 1\n") },
		func(l *tale) { l.run(); l.scraped("workqueue_depth{name=\"taskrun\"} 2\n") },
	}},
	"I13": {{
		func(l *tale) { l.granted("create", "pods"); l.pod("a-pod", l.run()) },
		func(l *tale) { l.granted("create", "persistentvolumeclaims"); l.pod("a-pod", l.run()) },
	}},
	"fault 5": {{
		func(l *tale) { l.silence(91 * time.Second) },
		func(l *tale) { l.silence(2 * time.Minute) },
	}},
	"fault 17": {{
		func(l *tale) { l.run(); l.refusedPod("quota exceeded"); l.pod("a-pod", l.stored()); l.succeeds() },
		func(l *tale) {
			l.run()
			l.refusedPod("quota exceeded")
			l.status(`{"completionTime":"2026-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"False","reason":"PodCreationFailed"}]}`)
		},
	}},
	"I11": {{
		func(l *tale) { l.refused(20) },
		func(l *tale) { l.refused(40) },
	}},
	"I12": {{
		func(l *tale) { _, _ = l.facts.logs.Write([]byte("all is well")) },
		func(l *tale) { _, _ = l.facts.logs.Write([]byte("the token is " + canary)) },
	}},
	"I4b": {{
		func(l *tale) { l.run(); l.status(since("01")); l.status(since("01")) },
		func(l *tale) { l.run(); l.status(since("01")); l.status(since("02")) },
	}, {
		func(l *tale) {
			l.run()
			l.status(`{"results":[{"name":"x","value":"1"}],"completionTime":"2026-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`)
		},
		func(l *tale) { l.run(); l.status(`{"results":[{"name":"x","value":"1"}]}`) },
	}},
	"I5b": {{
		func(l *tale) {
			l.pod("a-pod", l.run())
			l.must(l.server.Actor("kubelet").Patch("pods", "status", aPod, `{"status":{"phase":"Succeeded"}}`))
			l.succeeds()
		},
		func(l *tale) { l.pod("a-pod", l.run()); l.succeeds() },
	}},
	"I5c": {{
		func(l *tale) { l.removes("running", ends(cancelled)) },
		func(l *tale) { l.removes("running", ends(failed)) },
	}, {
		func(l *tale) { l.removes("waiting", ends(failed)) },
		func(l *tale) { l.removes("terminated", ends(failed)) },
	}, {
		func(l *tale) { l.removes("running", `{"retriesStatus":[`+ends(timedOut)+`]}`) },
		func(l *tale) {
			l.removes("running", `{"podName":"a-pod-retry1","retriesStatus":[{"podName":"a-pod"}]}`)
		},
	}},
	"I6b": {{
		func(l *tale) { l.run(); l.reconciled(20) },
		func(l *tale) { l.run(); l.reconciled(21) },
	}, {
		func(l *tale) { run := l.run(); l.pod("a-pod", run); l.pod("a-pod-retry1", run); l.reconciled(40) },
		func(l *tale) { run := l.run(); l.pod("a-pod", run); l.pod("a-pod-retry1", run); l.reconciled(41) },
	}},
	"I9b": {{
		func(l *tale) { l.lists(); l.facts.Quits = []Quit{{Actor: leader, At: time.Now().Add(time.Minute)}} },
		func(l *tale) { l.lists(); l.facts.Quits = []Quit{{Actor: leader, At: time.Now()}} },
	}},
	"I11b": {{
		func(l *tale) { l.refusedWrites(20) },
		func(l *tale) { l.refusedWrites(40) },
	}},
	"I16": {{
		func(l *tale) { l.run(); l.succeeds() },
		func(l *tale) {
			l.run()
			l.status(`{"completionTime":"2026-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"False","reason":"StepFailed"}]}`)
		},
	}, {
		func(l *tale) { l.run(); l.succeeds() },
		func(l *tale) { l.run(); l.status(secondAttempt); l.succeeds() }, // which it needs no faults for
	}, {
		// What happens to the pod of a run that has gone is the matter of the one that waits for
		// its name.
		func(l *tale) {
			l.remade(func(first, _ types.UID) { l.facts.disturbNext(aRun, first, "pod loses its owner") })
		},
		func(l *tale) {
			l.remade(func(_, now types.UID) { l.facts.disturbNext(aRun, now, "pod loses its owner") })
		},
	}},
}

// remade is a run that is deleted and made again; something happens then, and it fails.
func (l *tale) remade(then func(first, now types.UID)) {
	l.Helper()
	first := l.run()
	l.must(l.server.Actor("user").Delete("taskruns", aRun, metav1.DeleteOptions{}))
	then(first.GetUID(), l.run().GetUID())
	l.status(`{"completionTime":"2026-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"False","reason":"PodCreationFailed"}]}`)
}

// Statuses of a run that is tried again.
const (
	firstAttempt  = `{"startTime":"2026-01-01T00:00:00Z","steps":[{"container":"step-only","terminated":{"exitCode":1}}],"conditions":[{"type":"Succeeded","status":"Unknown","reason":"Running"}]}`
	anAttempt     = `{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:00Z","steps":[{"container":"step-only","terminated":{"exitCode":1}}],"conditions":[{"type":"Succeeded","status":"False","reason":"StepFailed"}]}`
	secondAttempt = `{"startTime":null,"steps":null,"retriesStatus":[` + anAttempt + `],"conditions":[{"type":"Succeeded","status":"Unknown","reason":"ToBeRetried"}]}`
	thirdAttempt  = `{"startTime":null,"steps":null,"retriesStatus":[` + anAttempt + `,` + anAttempt + `],"conditions":[{"type":"Succeeded","status":"Unknown","reason":"ToBeRetried"}]}`
)

func (l *tale) gone(pod types.NamespacedName) {
	l.Helper()
	l.must(l.server.Actor("user").Delete("pods", pod, metav1.DeleteOptions{}))
}

func (l *tale) scraped(metrics string) {
	l.facts.Held = map[string]int{"taskruns": len(l.server.Objects("taskruns"))}
	if strings.Contains(metrics, "pods") {
		l.facts.Held = map[string]int{"pods": 2}
		metrics += "informer_queued_items{resource=\"pods\"} 0\ninformer_store_resource_version{resource=\"pods\"} 9\n"
	}
	l.facts.Metrics = map[string]string{"millrace-0": metrics + "workqueue_depth{name=\"taskrun\"} 0\n"}
}

// granted lets the program do one thing.
func (l *tale) granted(verb, resource string) {
	l.facts.Grants = []Grant{{Verb: verb, Resource: resource}}
}

func (l *tale) silence(lasts time.Duration) {
	l.facts.Silences = []Silence{{From: l.facts.Begun, To: l.facts.Begun.Add(lasts)}}
}

func (l *tale) refusedPod(fault string) {
	l.check.See(apiserver.Exchange{Request: apiserver.Request{Actor: leader, Verb: "create", Resource: "pods", Key: aPod}, Code: 403, Fault: fault})
}

func (l *tale) stored() *apiserver.Object {
	o, _ := l.server.Object("taskruns", aRun)
	return o
}

// refused is a reflector that is refused n times within half a minute.
func (l *tale) refused(n int) {
	for i := range n {
		at := l.facts.Begun.Add(time.Duration(i) * 29 * time.Second / time.Duration(n))
		l.check.See(apiserver.Exchange{Request: apiserver.Request{Actor: leader, Verb: "watch", Resource: "pods"}, At: at, Code: 503})
	}
}

func TestEachInvariantCatchesAPlantedBreach(t *testing.T) {
	for _, i := range Invariants() {
		stories := slices.Concat(planted[i.ID], plantedInPipelines[i.ID])
		if len(planted[i.ID]) == 0 {
			t.Errorf("no breach of %s (%s) is planted", i.ID, i.Says)
		}
		for n, story := range stories {
			for _, breach := range []bool{false, true} {
				l := tell(t, i.ID)
				if breach {
					story.breach(l)
				} else {
					story.well(l)
				}
				if l.check.End != nil {
					l.check.End()
				}
				if caught := len(l.found) > 0; caught != breach {
					t.Errorf("%s (%s), story %d: breach %t, caught %q", i.ID, i.Says, n, breach, l.found)
				}
			}
		}
	}
}

// Writes by who has lost the Lease are the second half of I8.
func TestAWriteWithoutTheLeaseIsCaught(t *testing.T) {
	l := tell(t, "I8")
	l.run()
	thief := "millrace-1"
	lease := types.NamespacedName{Namespace: namespace, Name: leaseName}
	l.must(apiserver.Change(l.server.Actor("millrace-1.1"), "leases", "", lease, func(x *coordinationv1.Lease) { x.Spec.HolderIdentity = &thief }))
	o, _ := l.server.Object("taskruns", aRun)
	late := apiserver.Exchange{
		Request: apiserver.Request{Actor: leader, Verb: "patch", Resource: "taskruns", Subresource: "status", Key: aRun},
		Sent:    time.Now().Add(40 * time.Second), At: time.Now().Add(40 * time.Second), Code: 200,
		ResourceVersion: "1", UID: o.GetUID(), Before: o, After: l.must(l.server.Actor("user").Patch("taskruns", "", aRun, `{"metadata":{"labels":{"x":"y"}}}`)),
	}
	l.check.See(late)
	if len(l.found) != 2 { // too long after its renewal, and somebody else has the Lease
		t.Errorf("caught %q", l.found)
	}
}
