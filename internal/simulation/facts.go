package simulation

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// Facts are what invariants may know beside the exchanges.
type Facts struct {
	Begun, Calm, Quiet, Over time.Time // Calm, Quiet and Over are zero until then

	Runs         map[types.UID]*Run // TaskRuns
	PipelineRuns map[types.UID]*PipelineRun
	Faults       map[string]int    // by kind
	PodsMade     map[types.UID]int // by run
	ClaimsMade   map[types.UID]int // likewise
	claims       map[types.NamespacedName]bool
	Outages      []Span
	Stops        []Stop
	Violations   []Violation
	Metrics      map[string]string // by pod, at the end
	Leaks        string            // goroutines that should be gone
	Held         map[string]int    // objects at the end, by resource; of pods those of runs
	Newest       map[string]uint64 // version of the last change before the metrics were read, by resource

	RenewDeadline, RetryPeriod time.Duration

	Troubles

	Quits []Quit          // of processes
	dead  map[string]bool // processes that were killed

	logs  lockedBuffer
	links []*apiserver.Link
}

// Logs are all that the programs have logged.
func (f *Facts) Logs() string { return f.logs.String() }

// A Run is a TaskRun, or what a PipelineRun has in common with one, and what is
// expected of it.
type Run struct {
	Key     types.NamespacedName
	Created time.Time
	Expect  Expect
	// Disturbed is what happened to it besides its work; empty: nothing.
	Disturbed []string
	Gone      bool // deleted
	Ended     time.Time
	Last      *apiserver.Object
}

// Expect is what a run comes to if nothing happens to it but its work.
type Expect struct {
	Reason   string        `json:"reason"`   // of its condition in the end
	Results  string        `json:"results"`  // name=value, with commas
	Work     time.Duration `json:"work"`     // how long the steps of all attempts take, at most
	Attempts int           `json:"attempts"` // that it is given; 0 and 1 are the same
	Claims   int           `json:"claims"`   // that are made for it

	// Runs are how many TaskRuns each task of a PipelineRun has; one that is not named
	// has none.
	Runs map[string]int `json:"runs,omitempty"`
}

// A Span is an outage.
type Span struct {
	From, To time.Time
	Dials    int // connections that were asked for in it
}

// A Stop is the end of a process that was told to stop.
type Stop struct {
	Actor string
	Took  time.Duration
	Err   error
}

func newFacts(w *World) *Facts {
	return &Facts{
		Begun: w.begun, Runs: map[types.UID]*Run{}, PipelineRuns: map[types.UID]*PipelineRun{}, Faults: map[string]int{}, PodsMade: map[types.UID]int{}, ClaimsMade: map[types.UID]int{}, claims: map[types.NamespacedName]bool{},
		Held: map[string]int{}, Newest: map[string]uint64{}, dead: map[string]bool{},
		RenewDeadline: w.setting.RenewDeadline, RetryPeriod: w.setting.RetryPeriod,
		Troubles: Troubles{Grants: w.setting.Grants, Used: map[Grant]int{}},
	}
}

// see follows the runs.
func (f *Facts) see(e apiserver.Exchange) {
	f.shown(e)
	if !e.Committed() {
		return
	}
	if e.After != nil && f.Metrics == nil { // afterwards nobody asks what is in the caches (seed 1251)
		f.Newest[e.Resource] = e.After.Version()
	}
	if run, ok := born(e, "pods"); ok {
		f.PodsMade[run]++
	}
	if run, ok := born(e, "persistentvolumeclaims"); ok {
		f.ClaimsMade[run]++
	}
	if e.Resource == "persistentvolumeclaims" {
		f.claims[e.Key] = e.After != nil
	}
	switch e.Resource {
	case "taskruns":
		f.seeTaskRun(e)
		f.seeChild(e, isDone[crds.TaskRun])
	case "pipelineruns":
		f.seePipelineRun(e)
	}
}

func (f *Facts) seeTaskRun(e apiserver.Exchange) {
	if e.Before == nil {
		run := newRun(e)
		if f.parent(e.After) != nil {
			run.Expect = Expect{} // what its annotations tell is of the PipelineRun, which has handed them down
		}
		f.Runs[e.After.GetUID()] = &run
		return
	}
	if run := f.Runs[e.Before.GetUID()]; run != nil {
		run.see(e, isDone[crds.TaskRun])
	}
}

// isDone tells that a run of that kind has ended.
func isDone[T any, P interface {
	*T
	IsDone() bool
}](o *apiserver.Object) bool {
	return P(apiserver.As[T](o)).IsDone()
}

func newRun(e apiserver.Exchange) Run {
	return Run{Key: e.Key, Created: e.At, Expect: expectation(e.After), Last: e.After}
}

// see is told of a change of the run.
func (r *Run) see(e apiserver.Exchange, isDone func(*apiserver.Object) bool) {
	if e.After == nil {
		r.Gone = true
		return
	}
	r.Last = e.After
	if r.Ended.IsZero() && isDone(e.After) {
		r.Ended = e.At
	}
	if !program(e.Actor) && e.Before.GetGeneration() != e.After.GetGeneration() {
		r.Disturbed = append(r.Disturbed, "its spec was changed")
	}
}

const expectAnnotation = "simulation/expect"

// expectation is what the users have written on the run.
func expectation(o *apiserver.Object) (x Expect) {
	// A run of which nobody has said what it comes to is expected to end, and no more.
	_ = json.Unmarshal([]byte(o.GetAnnotations()[expectAnnotation]), &x)
	return x
}

func (x Expect) annotation() map[string]string { return map[string]string{expectAnnotation: text(x)} }

// disturbOwner notes what happened to an object of a run.
func (f *Facts) disturbOwner(o metav1.Object, kind string) {
	if owner := metav1.GetControllerOf(o); owner != nil {
		if run := f.Runs[owner.UID]; run != nil {
			run.Disturbed = append(run.Disturbed, kind)
		}
	}
}

// disturbNext notes what happened to an object of a run that has gone, whose name another
// has already that waits for the object to go, too.
func (f *Facts) disturbNext(key types.NamespacedName, gone types.UID, kind string) {
	for uid, run := range f.Runs {
		if run.Key == key && uid != gone && !run.Gone && run.Ended.IsZero() {
			run.Disturbed = append(run.Disturbed, kind)
		}
	}
}

// ownWork is the longest that a run may take by itself, with what happened to it.
func (f *Facts) ownWork() time.Duration {
	longest := time.Duration(0)
	for _, run := range f.Runs {
		longest = max(longest, run.allowance())
	}
	for _, run := range f.PipelineRuns {
		longest = max(longest, f.allowanceOf(run))
	}
	return longest
}

// startOfPod is what the start of the containers of one pod may take.
const startOfPod = 15 * time.Second

// allowance is the run's own time: its work, starts of containers in each attempt
// that it may have, and what lost nodes take to be given up.
func (r *Run) allowance() time.Duration {
	attempts := 1 + apiserver.As[crds.TaskRun](r.Last).Spec.Retries
	return r.Expect.Work + time.Duration(attempts)*startOfPod + r.lostTime()
}

// lostTime is what lost nodes take to be given up.
func (r *Run) lostTime() (lost time.Duration) {
	for _, what := range r.Disturbed {
		if what == "node lost" {
			lost += 3 * time.Minute
		}
	}
	return lost
}

// final counts what is there at the end.
func (f *Facts) final(s *apiserver.Server) {
	for _, resource := range []string{"taskruns", "tasks", "stepactions", "serviceaccounts", "pipelineruns", "pipelines", "customruns"} {
		f.Held[resource] = len(s.Objects(resource))
	}
	for _, o := range s.Objects("pods") {
		if o.GetLabels()["tekton.dev/taskRun"] != "" {
			f.Held["pods"]++
		}
	}
}
