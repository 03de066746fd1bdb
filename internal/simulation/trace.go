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
	runs    map[object][]types.NamespacedName // whom an object concerns
}

type object struct {
	resource string
	key      types.NamespacedName
}

// Written is one write of a process, whether it was committed or not.
type Written struct {
	Actor string
	At    time.Time // when it came in

	object object
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

func newTrace() *Trace { return &Trace{runs: map[object][]types.NamespacedName{}} }

// wrote takes note of a write that came in.
func (t *Trace) wrote(r apiserver.Request, at time.Time) {
	t.Writes = append(t.Writes, Written{r.Actor, at, object{r.Resource, r.Key}})
}

// told takes note of an event.
func (t *Trace) told(e apiserver.Event, c Change, at time.Time) {
	if !e.Initial && e.Type != "BOOKMARK" {
		t.Told = append(t.Told, Told{c, e.Watch.Actor, at})
	}
}

// changed learns whom an object concerns: a run itself, its Task and its
// ServiceAccount, and whatever it owns.
func (t *Trace) changed(e apiserver.Exchange) {
	o := object{e.Resource, e.Key}
	if e.Committed() {
		t.changes = append(t.changes, changed{o, e.At})
	}
	switch {
	case e.After == nil:
	case e.Resource == "taskruns":
		if len(t.runs[o]) > 0 {
			return
		}
		run := apiserver.Into[crds.TaskRun](e.After)
		t.concerns(o, e.Key)
		t.concerns(object{"serviceaccounts", types.NamespacedName{Namespace: e.Key.Namespace, Name: cmp.Or(run.Spec.ServiceAccountName, "default")}}, e.Key)
		if ref := run.Spec.TaskRef; ref != nil {
			t.concerns(object{"tasks", types.NamespacedName{Namespace: e.Key.Namespace, Name: ref.Name}}, e.Key)
		}
	default:
		if owner := metav1.GetControllerOf(e.After); owner != nil && owner.Kind == "TaskRun" {
			t.concerns(o, types.NamespacedName{Namespace: e.Key.Namespace, Name: owner.Name})
		}
	}
}

func (t *Trace) concerns(o object, run types.NamespacedName) {
	if !slices.Contains(t.runs[o], run) {
		t.runs[o] = append(t.runs[o], run)
	}
}

// between counts the changes of a resource for the run of a write from one moment
// until another.
func (t *Trace) between(from, to time.Time, w Written, resource string) (n int) {
	for _, c := range t.changes {
		if c.object.resource == resource && c.at.After(from) && c.at.Before(to) && t.related(w.object, c.object) {
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
		if c.Actor == w.Actor && c.At.Before(w.At) && t.related(w.object, object{c.Resource, c.Key}) {
			told = append(told, c)
		}
	}
	return told
}

// related tells whether two objects concern one run.
func (t *Trace) related(a, b object) bool {
	return slices.ContainsFunc(t.runs[a], func(run types.NamespacedName) bool { return slices.Contains(t.runs[b], run) })
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
	key := types.NamespacedName{Namespace: e.Object.GetNamespace(), Name: e.Object.GetName()}
	v := version{object{e.Watch.Resource, key}, e.Object.GetUID(), e.Object.Version()}
	if e.Type == "DELETED" {
		v.version = 0
	}
	return Change{e.Watch.Resource, key, c.nth[v]}
}
