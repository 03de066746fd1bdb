package main

import (
	"strings"
	"sync/atomic"

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
// it, so whichever comes first, no key is missed. A key of a packed object is a
// part of it, and who has reconciled a run may remember its key for long: so the
// queue gets copies.
func (s *standby) takeOver(store *indexer.Indexer, q *queue) {
	s.over.Store(true)
	for key := range store.Keys() {
		key.Namespace, key.Name = strings.Clone(key.Namespace), strings.Clone(key.Name)
		q.AddLow(key, workqueue.Cause{Source: store.Name(), Event: "take-over"})
	}
}
