package simulation

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/internal/simulation/kubelet"
)

// A Workload is what users do. To add one, add it to Workloads.
type Workload struct {
	Name string
	// Lasts is how long it goes on, and how long things go wrong.
	Lasts time.Duration
	// Users puts on the agenda what they do.
	Users func(*World)
	// Mishaps are what happens to a pod, by its name.
	Mishaps map[string]kubelet.Mishap
	// Replicas of the program. Default: 1.
	Replicas int

	verbosity int // of the log

	// Of a scenario:
	brief bool                       // it ends as soon as it has lasted, with nobody settled
	quick bool                       // watches tell all at once
	judge func(*Facts, report) Check // what it is about
}

func (l Workload) replicas(p Plan) int {
	switch {
	case l.Replicas > 0:
		return l.Replicas
	case p.Chaos > 0 && p.Seed.Happens(0.3, "two replicas"):
		return 2
	default:
		return 1
	}
}

func (l Workload) mishap(pod *corev1.Pod) (kubelet.Mishap, bool) {
	m, ok := l.Mishaps[pod.Name]
	return m, ok
}

// Storm is the workload in which everything happens.
const Storm = "storm"

const storm = 50 * time.Minute

func workload(name string) Workload {
	if name == Storm {
		return Workload{Name: Storm, Lasts: storm, Users: stormUsers}
	}
	for _, l := range Workloads() {
		if l.Name == name {
			l.Lasts, l.verbosity = 2*time.Minute, 4
			return l
		}
	}
	for _, l := range Scenarios() {
		if l.Name == name {
			return l
		}
	}
	panic(fmt.Sprintf("there is no workload %q", name))
}

// stormUsers create runs all the time, and often do something to them.
func stormUsers(w *World) {
	namespaces := []string{"blue", "green", "red"}
	w.tasks(namespaces...)
	seed := w.Plan.Seed
	if seed.Happens(0.5, "full quota") {
		w.fullQuota()
	}
	for i := range 30 {
		w.stormRun(fmt.Sprint("run-", i), namespaces)
	}
	for i := range 5 {
		w.stormPipeline(fmt.Sprint("pipe-", i), namespaces)
	}
	for i := range 8 {
		w.editsTask(seed.Between(0, storm, "edit", fmt.Sprint(i)), namespaces[i%3], i+2)
	}
	for _, minutes := range []string{"45", "0", "", "90"} { // more than any run of a storm takes
		w.setsDefaults(seed.Between(0, storm, "setting", minutes), minutes)
	}
}

// stormRun has a TaskRun of some kind created at some time, and often something done
// to it soon.
func (w *World) stormRun(name string, namespaces []string) {
	seed := w.Plan.Seed
	ns := namespaces[seed.Below(len(namespaces), "namespace", name)]
	at := seed.Between(0, storm-time.Minute, "created", name)
	kinds := recipes()
	what := kinds[seed.Below(len(kinds), "kind", name)]
	w.creates(at, ns, name, what)
	soon := at + seed.Between(0, 12*time.Second, "soon", name)
	switch seed.Below(12, "then", name) {
	case 0:
		w.cancels(soon, ns, name)
	case 1:
		w.deletes(soon, ns, name)
	case 2:
		w.recreates(soon, ns, name, what)
	case 3:
		w.orphans(soon, ns, name)
	case 4:
		w.deletesPod(soon, ns, name)
	}
}

// stormPipeline does so with a PipelineRun.
func (w *World) stormPipeline(name string, namespaces []string) {
	seed := w.Plan.Seed
	ns := namespaces[seed.Below(len(namespaces), "namespace", name)]
	at := seed.Between(0, storm-time.Minute, "created", name)
	kinds := pipelineRecipes()
	what := kinds[seed.Below(len(kinds), "kind", name)]
	w.createsPipeline(at, ns, name, what)
	soon := at + seed.Between(0, 20*time.Second, "soon", name)
	switch seed.Below(12, "then", name) {
	case 0:
		w.cancelsPipeline(soon, ns, name, crds.PipelineRunSpecStatusCancelled)
	case 1:
		w.cancelsPipeline(soon, ns, name, crds.PipelineRunSpecStatusCancelledRunFinally)
	case 2:
		w.cancelsPipeline(soon, ns, name, crds.PipelineRunSpecStatusStoppedRunFinally)
	case 3:
		w.deletesA("pipelineruns", soon, ns, name)
	case 4:
		w.recreatesPipeline(soon, ns, name, what)
	}
}

// Workloads are those that plans are made for.
func Workloads() []Workload {
	const first = 5 * time.Second // the program has its caches and its Lease by then
	one := func(what recipe) func(*World) {
		return func(w *World) {
			w.tasks("blue")
			w.creates(first, "blue", "a", what)
		}
	}
	slow := func(draw) (crds.TaskRunSpec, Expect) {
		return embedded(stepOf("first", "sleep=5s"), stepOf("second", "sleep=5s")), Expect{Reason: succeeded, Work: 10 * time.Second}
	}
	// Its time is not up before a program that was killed is back, or there may be no pod.
	late := func(draw) (crds.TaskRunSpec, Expect) { return endless(30 * time.Second) }
	return append([]Workload{
		{Name: "one step", Users: one(oneStep)},
		{Name: "three steps, the middle one fails", Users: one(failingMiddle)},
		{Name: "results", Users: one(withResults)},
		{Name: "params from a Task", Users: one(fromTask)},
		{Name: "timeout", Users: one(late)},
		{Name: "cancel", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.cancels(first+4*time.Second, "blue", "a")
		}},
		{Name: "pod deleted before its first step", Users: one(slow), Mishaps: map[string]kubelet.Mishap{"a-pod": {Kind: "deleted before it starts", After: time.Millisecond}}},
		{Name: "pod deleted after its first step", Users: one(slow), Mishaps: map[string]kubelet.Mishap{"a-pod": {Kind: "deleted", After: 8 * time.Second}}},
		{Name: "burst of 50", Users: func(w *World) {
			w.account("blue")
			for i := range 50 {
				w.creates(first, "blue", fmt.Sprint("a", i), oneStep)
			}
		}},
		{Name: "run deleted while running", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.deletes(first+4*time.Second, "blue", "a")
		}},
		{Name: "Task edited while running", Users: func(w *World) {
			w.tasks("blue")
			w.creates(first, "blue", "a", fromTask)
			w.editsTask(first+2*time.Second, "blue", 2)
		}},
		{Name: "restart while pending", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", slow)
			w.Agenda.After(first+time.Second, func() {
				if p := w.anyProcess("restart"); p != nil {
					w.tellToStop(p.actor)
				}
			})
		}, Mishaps: map[string]kubelet.Mishap{"a-pod": {Kind: "image pull fails once", After: time.Millisecond}}},
		{Name: "retries", Users: one(thirdTime)},
		{Name: "retries in vain", Users: one(inVain)},
		{Name: "a time for each attempt", Users: one(twiceTooSlow)},
		{Name: "cancel during a retry", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", func(draw) (crds.TaskRunSpec, Expect) {
				return again(embedded(stepOf("first", "exit=1"), stepOf("second", "sleep=15s")), 3, 1), Expect{Reason: succeeded, Work: 15 * time.Second, Attempts: 2, Results: "attempt=1"}
			})
			w.cancels(first+12*time.Second, "blue", "a")
		}},
		{Name: "sidecars", Users: one(withSidecar)},
		{Name: "a sidecar that never comes up", Users: one(sidecarThatNeverComes)},
		{Name: "a sidecar that does not stop", Users: one(stubbornSidecar)},
		{Name: "a claim of its own", Users: func(w *World) {
			w.fullQuota()
			one(ownClaim)(w)
		}},
		{Name: "a claim that comes late", Users: func(w *World) {
			w.account("blue")
			w.creates(first, "blue", "a", sharedClaim)
			w.claims(first+15*time.Second, "blue")
		}},
		{Name: "a StepAction and its results", Users: one(fromAction)},
		{Name: "no image volumes", Users: one(slow), Mishaps: map[string]kubelet.Mishap{"a-pod": {Kind: "node knows no image volumes"}}},
		{Name: "two namespaces", Users: func(w *World) {
			w.tasks("blue", "green")
			for i := range 3 {
				w.creates(first, "blue", fmt.Sprint("a", i), fromTask)
				w.creates(first, "green", fmt.Sprint("a", i), withResults)
			}
		}},
	}, slices.Concat(adversities(), pipelines())...)
}
