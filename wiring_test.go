package main

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/reconcile/pipelinerun"
	"millrace/wire"
)

// tell has the handlers of a chain hear of a change that the store has taken in.
func (c chain) tell(change indexer.Change) {
	for _, handle := range c.handlers {
		handle(change)
	}
}

// runOf is a run with the facets of its chain; its UID is its name, and so is that of who
// has made it.
func runOf(t *testing.T, facets pipelinerun.Facets, name, succeeded, madeBy string) *wire.Object {
	t.Helper()
	owners := ""
	if madeBy != "" {
		owners = fmt.Sprintf(`{"apiVersion":"tekton.dev/v1","kind":"PipelineRun","name":%q,"uid":%q,"controller":true}`, madeBy, madeBy)
	}
	o, err := wire.NewScanner(facets.List()...).Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"namespace":"ci","name":%q,"uid":%q,"resourceVersion":"1","ownerReferences":[%s]},
		"status":{"conditions":[{"type":"Succeeded","status":%q}]}}`, name, name, owners, succeeded))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// keep is what a store has before anybody is told of anything.
func keep(x *indexer.Indexer, o *wire.Object) {
	x.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}})
}

func created(o *wire.Object, initial bool) indexer.Change {
	return indexer.Change{Type: indexer.Created, Key: o.Key(), New: o, Initial: initial}
}

// next is whose turn it is in a queue; "" if it is nobody's.
func next(t *testing.T, q *queue) string {
	t.Helper()
	if q.Len() == 0 {
		return ""
	}
	key, _, err := q.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q.Done(key)
	return key.Name
}

// TestRunsThatHaveNotEndedGoBeforeTheRest has it of a handler; this has it of each chain.
func TestOfBothKindsRunsThatHaveNotEndedGoFirst(t *testing.T) {
	s := wired(t, nil)
	s.waiting.over.Store(true)
	for _, kind := range []struct {
		chain  chain
		facets pipelinerun.Facets
		queue  *queue
	}{{s.taskRuns, s.ofTask, s.taskRunQueue}, {s.pipelineRuns, s.ofPipeline, s.pipelineRunQueue}} {
		for name, succeeded := range map[string]string{"ended": "True", "failed": "False"} {
			kind.chain.tell(created(runOf(t, kind.facets, name, succeeded, ""), true))
		}
		kind.chain.tell(created(runOf(t, kind.facets, "goes-on", "Unknown", ""), true))
		if first := next(t, kind.queue); first != "goes-on" || kind.queue.Len() != 2 {
			t.Errorf("%s: the first is %q, and %d are left", kind.chain.Name(), first, kind.queue.Len())
		}
	}
}

// podOf is the pod of a run, in a phase.
func podOf(t *testing.T, run, phase string) *wire.Object {
	t.Helper()
	o, err := wire.NewScanner(wire.NewFacetOf[corev1.Pod]("status.phase")).Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"namespace":"ci","name":"%[1]s-pod","uid":"%[1]s-pod","resourceVersion":"1",
		"ownerReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":%[1]q,"uid":%[1]q,"controller":true}]},"status":{"phase":%[2]q}}`, run, phase))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// In a flood a run whose pod has ended is not to wait for all others to begin. What else
// its pod tells can wait, so that it is one reconcile; and so can what is told again of a
// pod that has ended.
func TestARunWhosePodHasEndedGoesBeforeThoseThatHaveNotBegun(t *testing.T) {
	s := wired(t, nil)
	s.waiting.over.Store(true)
	s.taskRuns.tell(created(runOf(t, s.ofTask, "waits", "Unknown", ""), false))
	for _, pod := range []struct{ run, before, after string }{
		{"works", "Pending", "Running"},
		{"is-over", "Succeeded", "Succeeded"},
		{"succeeds", "Running", "Succeeded"},
		{"fails", "Pending", "Failed"},
	} {
		o := podOf(t, pod.run, pod.after)
		s.pods.tell(indexer.Change{Type: indexer.Updated, Key: o.Key(), Old: podOf(t, pod.run, pod.before), New: o})
	}
	for _, want := range []string{"succeeds", "fails", "waits", "works", "is-over"} {
		if got := next(t, s.taskRunQueue); got != want {
			t.Errorf("the next is %q, want %q", got, want)
		}
	}
}

// Of whatever kind a child is, and whichever of the two caches is behind: a PipelineRun
// that has ended is looked at again when both its end and its child are there.
func TestWhoComesAfterTheEndWakesItsPipelineRun(t *testing.T) {
	for _, kind := range []struct {
		name   string
		chain  func(*share) chain
		facets func(*share) pipelinerun.Facets
	}{
		{"TaskRun", func(s *share) chain { return s.taskRuns }, func(s *share) pipelinerun.Facets { return s.ofTask }},
		{"CustomRun", func(s *share) chain { return s.customRuns }, func(s *share) pipelinerun.Facets { return s.ofCustom }},
		{"PipelineRun", func(s *share) chain { return s.pipelineRuns }, func(s *share) pipelinerun.Facets { return s.ofPipeline }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			s := wired(t, nil)
			s.waiting.over.Store(true)
			children, child := kind.chain(s), runOf(t, kind.facets(s), "child", "Unknown", "parent")
			before, after := runOf(t, s.ofPipeline, "parent", "Unknown", ""), runOf(t, s.ofPipeline, "parent", "False", "")
			woken := func() (parent bool) {
				for name := next(t, s.pipelineRunQueue); name != ""; name = next(t, s.pipelineRunQueue) {
					parent = parent || name == "parent"
				}
				return parent
			}

			keep(s.pipelineRuns.Indexer, before)
			children.tell(created(child, false))
			if woken() {
				t.Error("it has made the child itself, and is woken")
			}
			keep(children.Indexer, child)
			s.pipelineRuns.tell(indexer.Change{Type: indexer.Updated, Key: after.Key(), Old: before, New: after})
			if !woken() {
				t.Error("it ends amid its children, and is not woken")
			}
			keep(s.pipelineRuns.Indexer, after)
			children.tell(created(child, false))
			if !woken() {
				t.Error("the child comes after its end, and it is not woken")
			}
		})
	}
}
