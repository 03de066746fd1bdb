package handler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/predicate"
	"millrace/wire"
	"millrace/workqueue"
)

// book is a queue that writes down what it is told.
type book []string

func (b *book) Add(k types.NamespacedName, c workqueue.Cause)       { b.note("add", k, c) }
func (b *book) AddUrgent(k types.NamespacedName, c workqueue.Cause) { b.note("urgent", k, c) }
func (b *book) AddLow(k types.NamespacedName, c workqueue.Cause)    { b.note("low", k, c) }
func (b *book) Reset(k types.NamespacedName)                        { *b = append(*b, "reset "+k.String()) }

func (b *book) note(lane string, k types.NamespacedName, c workqueue.Cause) {
	*b = append(*b, fmt.Sprintf("%s %s: %s", lane, k, c))
}

// expect compares what was written down, and turns the page.
func (b *book) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, append([]string(nil), *b...)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	*b = nil
}

var key = types.NamespacedName{Namespace: "default", Name: "a"}

// object has a generation and owners, each as apiVersion/kind/name.
func object(tb testing.TB, version string, generation int, owners ...string) *wire.Object {
	tb.Helper()
	var refs []string
	for _, o := range owners {
		i, j := strings.LastIndexByte(o, '/'), strings.LastIndexByte(o[:strings.LastIndexByte(o, '/')], '/')
		refs = append(refs, fmt.Sprintf(`{"apiVersion":%q,"kind":%q,"name":%q,"uid":"u"}`, o[:j], o[j+1:i], o[i+1:]))
	}
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil,
		`{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":%q,"generation":%d,"ownerReferences":[%s]}}`,
		version, generation, strings.Join(refs, ",")))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func created(o *wire.Object) indexer.Change {
	return indexer.Change{Type: indexer.Created, Key: key, New: o}
}

func updated(before, after *wire.Object) indexer.Change {
	return indexer.Change{Type: indexer.Updated, Key: key, Old: before, New: after}
}

func deleted(o *wire.Object) indexer.Change {
	return indexer.Change{Type: indexer.Deleted, Key: key, Old: o}
}

func resynced(o *wire.Object) indexer.Change {
	c := updated(o, o)
	c.Resync = true
	return c
}

func initial(c indexer.Change) indexer.Change {
	c.Initial = true
	return c
}

func merged(n int, c indexer.Change) indexer.Change {
	c.Merged = n
	return c
}

// Each change of an object, its lane and its cause.
func TestEnqueueChoosesTheLane(t *testing.T) {
	b := &book{}
	h := Enqueue("taskruns", b)
	one, status, spec := object(t, "1", 1), object(t, "2", 1), object(t, "3", 2)

	h(initial(created(one)))
	b.expect(t, "low default/a: taskruns initial →1")
	h(resynced(one))
	b.expect(t, "low default/a: taskruns resync 1→1")
	h(created(one))
	b.expect(t, "reset default/a", "add default/a: taskruns create →1")
	h(updated(one, status))
	b.expect(t, "add default/a: taskruns update 1→2")
	h(updated(status, spec))
	b.expect(t, "urgent default/a: taskruns update 2→3")
	h(merged(2, updated(one, spec)))
	b.expect(t, "urgent default/a: taskruns update 1→3 ×3")
	h(deleted(spec))
	b.expect(t, "urgent default/a: taskruns delete 3→")
	h(indexer.Change{Type: indexer.Generic, Key: key})
	b.expect(t, "add default/a: taskruns generic")
}

// An object made again under its name: the failures of the first one are not
// the second one's.
func TestRecreatedObjectStartsClean(t *testing.T) {
	b := &book{}
	h := Enqueue("taskruns", b)
	h(deleted(object(t, "1", 1)))
	h(created(object(t, "5", 1)))
	b.expect(t,
		"urgent default/a: taskruns delete 1→",
		"reset default/a",
		"add default/a: taskruns create →5")
}

const (
	ours    = "tekton.dev/v1/TaskRun/"
	older   = "tekton.dev/v1beta1/TaskRun/"
	foreign = "example.com/v1/TaskRun/"
	core    = "v1/TaskRun/"
	other   = "tekton.dev/v1/PipelineRun/"
)

var taskRun = schema.GroupKind{Group: "tekton.dev", Kind: "TaskRun"}

// Group and kind must match, the version need not, and all owners count.
func TestEnqueueOwnerFindsEveryOwnerOfTheKind(t *testing.T) {
	b := &book{}
	h := EnqueueOwner("pods", taskRun, b)
	h(created(object(t, "1", 1, other+"p", ours+"x", foreign+"f", core+"c", older+"y", ours+"x")))
	b.expect(t,
		"add default/x: pods create a →1",
		"add default/y: pods create a →1")
	h(created(object(t, "1", 1)))
	b.expect(t)
	h(deleted(object(t, "2", 1, ours+"x")))
	b.expect(t, "add default/x: pods delete a 2→")

	h = EnqueueOwner("pods", schema.GroupKind{Kind: "TaskRun"}, b)
	h(created(object(t, "1", 1, ours+"x", core+"c")))
	b.expect(t, "add default/c: pods create a →1")
}

// An owner that lost a child hears of it, and nobody twice.
func TestEnqueueOwnerTellsOldAndNewOwner(t *testing.T) {
	b := &book{}
	h := EnqueueOwner("pods", taskRun, b)
	h(updated(object(t, "1", 1, ours+"x", ours+"y", ours+"x"), object(t, "2", 1, older+"y", ours+"z")))
	b.expect(t,
		"add default/y: pods update a 1→2",
		"add default/z: pods update a 1→2",
		"add default/x: pods update a 1→2")
}

// A child's news are urgent where the wiring says so, and never in a replay.
func TestUrgentNewsOfAChild(t *testing.T) {
	b := &book{}
	ended := func(c indexer.Change) bool { return c.New != nil && c.New.ResourceVersion() == "9" }
	h := EnqueueOwner("pods", taskRun, b, ended)
	running, done := object(t, "8", 1, ours+"x"), object(t, "9", 2, ours+"x")
	h(created(running))
	b.expect(t, "add default/x: pods create a →8")
	h(updated(running, done))
	b.expect(t, "urgent default/x: pods update a 8→9")
	h(resynced(done))
	b.expect(t, "low default/x: pods resync a 9→9")
	h(initial(created(done)))
	b.expect(t, "low default/x: pods initial a →9")
	h(deleted(done))
	b.expect(t, "add default/x: pods delete a 9→")
}

// Whatever of a change is missing, nobody panics and nothing is dropped, as
// controller-runtime drops a tombstone without an object: the key is there
// always, and is what is told.
func TestNothingIsMissedWhereAnObjectIsMissing(t *testing.T) {
	full := object(t, "1", 1, ours+"x")
	for _, typ := range []indexer.ChangeType{indexer.Created, indexer.Updated, indexer.Deleted, indexer.Generic} {
		for _, c := range []indexer.Change{{}, {Old: full}, {New: full}, {FinalStateUnknown: true}, {Resync: true}, {Initial: true}} {
			c.Type, c.Key = typ, key
			b := &book{}
			urgent := []predicate.Func{predicate.And(predicate.GenerationChanged, predicate.NoGeneration, predicate.Dependent, predicate.LabelChanged)}
			Enqueue("taskruns", b, urgent...)(c)
			if !strings.Contains(fmt.Sprint(*b), "default/a") {
				t.Errorf("%v %+v: Enqueue told %v", typ, c, *b)
			}
			*b = nil
			EnqueueOwner("pods", taskRun, b, urgent...)(c)
			if told, owned := len(*b), c.Old != nil || c.New != nil; told > 1 || (told == 1) != owned {
				t.Errorf("%v %+v: EnqueueOwner told %v", typ, c, *b)
			}
			*b = nil
			EnqueueMapped("tasks", b, func(c indexer.Change) []types.NamespacedName { return []types.NamespacedName{c.Key} }, urgent...)(c)
			if len(*b) != 1 {
				t.Errorf("%v %+v: EnqueueMapped told %v", typ, c, *b)
			}
		}
	}
}

// More may be urgent for the object itself.
func TestUrgentNewsOfTheObject(t *testing.T) {
	b := &book{}
	h := Enqueue("taskruns", b, func(c indexer.Change) bool { return true })
	h(updated(object(t, "1", 1), object(t, "2", 1)))
	b.expect(t, "urgent default/a: taskruns update 1→2")
}

// A map may name any keys, of any namespace, from old and new.
func TestEnqueueMapped(t *testing.T) {
	b := &book{}
	h := EnqueueMapped("tasks", b, func(c indexer.Change) []types.NamespacedName {
		return []types.NamespacedName{{Namespace: "n", Name: c.Old.ResourceVersion()}, {Namespace: "m", Name: c.New.ResourceVersion()}}
	}, func(c indexer.Change) bool { return c.Merged > 0 })
	one, two := object(t, "1", 1), object(t, "2", 2)
	h(updated(one, two))
	b.expect(t, "add n/1: tasks update a 1→2", "add m/2: tasks update a 1→2")
	h(merged(1, updated(one, two)))
	b.expect(t, "urgent n/1: tasks update a 1→2 ×2", "urgent m/2: tasks update a 1→2 ×2")
}

func TestWhen(t *testing.T) {
	b := &book{}
	h := When(predicate.Not(predicate.Dependent), Enqueue("pods", b))
	h(deleted(object(t, "1", 1)))
	b.expect(t)
	h(initial(created(object(t, "1", 1))))
	b.expect(t, "low default/a: pods initial →1")
}

// nobody is a queue that costs nothing.
type nobody struct{}

func (nobody) Add(types.NamespacedName, workqueue.Cause)       {}
func (nobody) AddUrgent(types.NamespacedName, workqueue.Cause) {}
func (nobody) AddLow(types.NamespacedName, workqueue.Cause)    {}
func (nobody) Reset(types.NamespacedName)                      {}

// The first claim's last part.
func TestHandlersAllocateNothing(t *testing.T) {
	urgent := func(c indexer.Change) bool { return c.Type == indexer.Deleted }
	change := updated(object(t, "1", 1, ours+"x"), object(t, "2", 1, ours+"y"))
	for name, h := range map[string]func(indexer.Change){
		"Enqueue":      Enqueue("taskruns", nobody{}, urgent),
		"EnqueueOwner": EnqueueOwner("pods", taskRun, nobody{}, urgent),
	} {
		if n := testing.AllocsPerRun(100, func() { h(change) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkEnqueue(b *testing.B) {
	h := Enqueue("taskruns", nobody{})
	change := updated(object(b, "1", 1), object(b, "2", 1))
	b.ReportAllocs()
	for b.Loop() {
		h(change)
	}
}

func BenchmarkEnqueueOwner(b *testing.B) {
	h := EnqueueOwner("pods", taskRun, nobody{})
	change := updated(object(b, "1", 1, ours+"x"), object(b, "2", 1, ours+"x"))
	b.ReportAllocs()
	for b.Loop() {
		h(change)
	}
}

func TestWhatAPredicateDropsIsToldForTheKeysThatItWouldHaveWoken(t *testing.T) {
	var queue, dropped book
	to := func(q Queue) func(indexer.Change) {
		return EnqueueOwner("pods", schema.GroupKind{Group: "tekton.dev", Kind: "TaskRun"}, q)
	}
	handle := WhenElse(predicate.GenerationChanged, to(&queue), to(&dropped))
	was, now := object(t, "7", 1, "tekton.dev/v1/TaskRun/build"), object(t, "8", 1, "tekton.dev/v1/TaskRun/build")
	handle(indexer.Change{Type: indexer.Updated, Key: key, Old: was, New: now})
	queue.expect(t)
	dropped.expect(t, "add default/build: pods update a 7→8")
	handle(indexer.Change{Type: indexer.Updated, Key: key, Old: was, New: object(t, "9", 2, "tekton.dev/v1/TaskRun/build")})
	queue.expect(t, "add default/build: pods update a 7→9")
	dropped.expect(t)
}

func TestACauseSaysWhenItsEventReachedTheProcess(t *testing.T) {
	received := time.Now().Add(-time.Second)
	q := workqueue.New(workqueue.Config[types.NamespacedName]{Trace: workqueue.Trace[types.NamespacedName]{
		OnAsk: func(_ types.NamespacedName, a workqueue.Asked) {
			if !a.Cause.First.Equal(received) {
				t.Errorf("first: %v, want %v", a.Cause.First, received)
			}
		},
	}})
	Enqueue("taskruns", q)(indexer.Change{Type: indexer.Updated, Key: key, New: object(t, "8", 1), Received: received})
}
