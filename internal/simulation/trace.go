package simulation

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A Trace is what systematic plans are made from: what the processes wrote in a
// simulation, and what they had been told.
type Trace struct {
	Writes []Written // as they came in: the first is write 1
	Told   []Told    // as they were told, without what was there when a watch began

	changes []changed
	runs    map[object][]object // whom an object concerns: TaskRuns and PipelineRuns
}

type object struct {
	resource string
	key      types.NamespacedName
}

// Written is one write of a process, whether it was committed or not.
type Written struct {
	Actor string
	At    time.Time // when it came in

	object  object
	creates bool
}

// changed is an object that was changed.
type changed struct {
	object object
	at     time.Time
}

// Told is one change that a process was told of.
type Told struct {
	Change

	Actor string
	At    time.Time
}

func newTrace() *Trace { return &Trace{runs: map[object][]object{}} }

// wrote takes note of a write that came in.
func (t *Trace) wrote(r apiserver.Request, at time.Time) {
	t.Writes = append(t.Writes, Written{r.Actor, at, object{r.Resource, r.Key}, r.Verb == "create"})
}

// told takes note of an event.
func (t *Trace) told(e apiserver.Event, c Change, at time.Time) {
	if !e.Initial && c.Nth > 0 {
		t.Told = append(t.Told, Told{c, e.Watch.Actor, at})
	}
}

// changed learns whom an object concerns: a run itself, its Task or Pipeline, its
// ServiceAccount, and whatever it owns.
func (t *Trace) changed(e apiserver.Exchange) {
	o := object{e.Resource, e.Key}
	if e.Committed() {
		t.changes = append(t.changes, changed{o, e.At})
	}
	if e.After == nil {
		return
	}
	if owner := metav1.GetControllerOf(e.After); owner != nil && owner.Kind == "PipelineRun" {
		t.concerns(o, t.of(e, "pipelineruns", owner.Name))
	} else if owner != nil && owner.Kind == "TaskRun" {
		t.concerns(o, t.of(e, "taskruns", owner.Name))
	}
	switch e.Resource {
	case "taskruns":
		run := apiserver.As[crds.TaskRun](e.After)
		t.concerns(o, o)
		t.concerns(t.of(e, "serviceaccounts", cmp.Or(run.Spec.ServiceAccountName, "default")), o)
		if ref := run.Spec.TaskRef; ref != nil {
			t.concerns(t.of(e, "tasks", ref.Name), o)
		}
	case "pipelineruns":
		run := apiserver.As[crds.PipelineRun](e.After)
		t.concerns(o, o)
		if ref := run.Spec.PipelineRef; ref != nil {
			t.concerns(t.of(e, "pipelines", ref.Name), o)
		}
	}
}

// of is an object of an exchange's namespace.
func (t *Trace) of(e apiserver.Exchange, resource, name string) object {
	return object{resource, types.NamespacedName{Namespace: e.Key.Namespace, Name: name}}
}

func (t *Trace) concerns(o, run object) {
	if !slices.Contains(t.runs[o], run) {
		t.runs[o] = append(t.runs[o], run)
	}
}

// between counts the changes of a resource for the run of a write from one moment
// until another.
func (t *Trace) between(from, to time.Time, w Written, resource string) (n int) {
	for _, c := range t.changes {
		if c.object.resource == resource && c.at.After(from) && c.at.Before(to) && t.related(w, c.object) {
			n++
		}
	}
	return n
}

// before are the changes that a write can have come of: those that its process had
// been told of by then that concern the write's run.
func (t *Trace) before(w Written) []Told {
	var told []Told
	for _, c := range t.Told {
		if c.Actor == w.Actor && c.At.Before(w.At) && t.related(w, object{c.Resource, c.Key}) {
			told = append(told, c)
		}
	}
	return told
}

// related tells whether an object concerns the run of a write. A TaskRun is its own
// run, and that of its PipelineRun only when it is made: who writes its status has
// not looked at its siblings.
func (t *Trace) related(w Written, o object) bool {
	runs := t.runs[w.object]
	if w.object.resource == "taskruns" && !w.creates {
		runs = []object{w.object}
	}
	return slices.ContainsFunc(runs, func(run object) bool { return slices.Contains(t.runs[o], run) })
}

// numbering numbers the changes of each object.
type numbering struct {
	count map[object]int
	nth   map[version]int
}

// A version of an object, or its deletion.
type version struct {
	object
	uid     types.UID
	version uint64 // 0: the deletion
}

func newNumbering() numbering { return numbering{count: map[object]int{}, nth: map[version]int{}} }

// see counts what an exchange changed, if it changed anything.
func (c numbering) see(e apiserver.Exchange) (Change, bool) {
	if !e.Committed() {
		return Change{}, false
	}
	o := object{e.Resource, e.Key}
	c.count[o]++
	v := version{object: o}
	if e.After != nil {
		v.uid, v.version = e.After.GetUID(), e.After.Version()
	} else {
		v.uid = e.Before.GetUID()
	}
	c.nth[v] = c.count[o]
	return Change{o.resource, o.key, c.count[o]}, true
}

// of is the change that an event tells of.
func (c numbering) of(e apiserver.Event) Change {
	key := e.Object.Key()
	v := version{object{e.Watch.Resource, key}, e.Object.GetUID(), e.Object.Version()}
	if e.Type == "DELETED" && c.nth[v] == 0 { // else it is gone from what is watched, and not from the store
		v.version = 0
	}
	return Change{e.Watch.Resource, key, c.nth[v]}
}
