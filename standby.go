package main

import (
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"millrace/handler"
	"millrace/indexer"
	"millrace/workqueue"
)

// standby keeps the queue of a replica empty that has no workers. Its caches are
// warm, so its handlers hear of every run there ever is; a queue that nobody
// takes from would remember them all, those that are long gone too.
type standby struct{ over atomic.Bool }

// isOver is a predicate: handlers enqueue only when there are workers, or about
// to be.
func (s *standby) isOver(indexer.Change) bool { return s.over.Load() }

// takeOver ends it: from here on handlers enqueue, and what the store has until
// then is enqueued now. A change is in the store before the handlers hear of
// it, so whichever comes first, no key is missed. Runs that have not ended go first:
// somebody waits for them, and of the others there may be 50,000. A key of a packed
// object is a part of it, and who has reconciled a run may remember its key for long: so
// the queue gets copies.
func (s *standby) takeOver(at atWork, q handler.Queue) {
	s.over.Store(true)
	for key := range at.runs.Keys() {
		add := q.AddLow
		if run, ok := at.runs.Glance(key); ok && at.run(run) {
			add = q.Add
		}
		key.Namespace, key.Name = strings.Clone(key.Namespace), strings.Clone(key.Name)
		add(key, workqueue.Cause{Source: at.runs.Name(), Event: "take-over"})
	}
}

// enqueueRun is handler.Enqueue for runs: those of the first list that have not ended go
// before the rest of it. What tells them apart may be made after this, and before the first
// of them comes.
func enqueueRun(resource string, runs *atWork, q handler.Queue) func(indexer.Change) {
	waits := func(c indexer.Change) bool { return c.Initial && c.New != nil && runs.run(c.New) }
	return handler.WhenElse(waits, handler.Enqueue(resource, unended{q}), handler.Enqueue(resource, q))
}

// unended is a queue for runs that have not ended: none of them is low.
type unended struct{ handler.Queue }

func (u unended) AddLow(key types.NamespacedName, cause workqueue.Cause) { u.Add(key, cause) }
