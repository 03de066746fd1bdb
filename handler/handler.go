package handler

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/predicate"
	"millrace/workqueue"
)

// Queue is what handlers need of a queue; a *workqueue.Queue with keys of this
// type is one.
type Queue interface {
	// Add asks for a run, after the backoff if there is one.
	Add(types.NamespacedName, workqueue.Cause)
	// AddUrgent asks for a run now, whatever has failed before, and before those that
	// are only asked for.
	AddUrgent(types.NamespacedName, workqueue.Cause)
	// AddLow asks for a run when nobody has news.
	AddLow(types.NamespacedName, workqueue.Cause)
	// Reset forgets the failures of an object that is gone, those to come of its run
	// that is at work included.
	Reset(types.NamespacedName)
}

// Enqueue adds the key of the object itself. The source is the resource's name,
// as causes show it. Whatever one of the urgent predicates passes is urgent,
// besides what always is (the package's third claim). A created object is not: there
// is no failure of its own, and nothing of it is at work that others should wait for.
func Enqueue(source string, q Queue, urgent ...predicate.Func) func(indexer.Change) {
	to := target{source, q, predicate.Or(append(urgent, voidsFailures)...)}
	return func(c indexer.Change) {
		if c.Type == indexer.Created && !c.Initial {
			q.Reset(c.Key)
		}
		to.send(c.Key, "", c)
	}
}

// EnqueueMapped adds the keys that keysOf finds for a change. An update may have
// moved the object from one key's concern to another's: keysOf should look at
// Old as well as New. Either may be nil.
func EnqueueMapped(source string, q Queue, keysOf func(indexer.Change) []types.NamespacedName, urgent ...predicate.Func) func(indexer.Change) {
	to := target{source, q, predicate.Or(urgent...)}
	return func(c indexer.Change) {
		for _, key := range keysOf(c) {
			to.send(key, c.Key.Name, c)
		}
	}
}

// When calls handle for the changes that p passes.
func When(p predicate.Func, handle func(indexer.Change)) func(indexer.Change) {
	return func(c indexer.Change) {
		if p(c) {
			handle(c)
		}
	}
}

// WhenElse calls handle for the changes that p passes, and otherwise for the rest.
// Give otherwise the same handler with a Queue that only writes down, and it is
// known for which keys a change was dropped, and where.
func WhenElse(p predicate.Func, handle, otherwise func(indexer.Change)) func(indexer.Change) {
	return func(c indexer.Change) {
		if p(c) {
			handle(c)
			return
		}
		otherwise(c)
	}
}

// voidsFailures passes what was not so when the key last failed, and was not
// done by its reconcile: those write no spec.
func voidsFailures(c indexer.Change) bool {
	switch c.Type {
	case indexer.Deleted:
		return true
	case indexer.Updated:
		return predicate.GenerationChanged(c)
	case indexer.Created, indexer.Generic:
	}
	return false
}

// target is a queue and what to tell it.
type target struct {
	source string
	queue  Queue
	urgent predicate.Func
}

// send adds a key to the lane that the change belongs to. The child is the
// object that brings the news to a key that is not its own.
func (t target) send(key types.NamespacedName, child string, c indexer.Change) {
	cause := causeOf(c)
	cause.Source, cause.Name = t.source, child
	switch {
	case c.Initial, c.Resync:
		t.queue.AddLow(key, cause)
	case t.urgent(c):
		t.queue.AddUrgent(key, cause)
	default:
		t.queue.Add(key, cause)
	}
}

// causeOf says what happened.
func causeOf(c indexer.Change) workqueue.Cause {
	cause := workqueue.Cause{Event: event(c), Count: 1 + c.Merged, First: c.Received}
	if c.Old != nil {
		cause.OldRV = c.Old.ResourceVersion()
	}
	if c.New != nil {
		cause.NewRV = c.New.ResourceVersion()
	}
	return cause
}

func event(c indexer.Change) string {
	switch {
	case c.Resync:
		return "resync"
	case c.Initial && c.Type == indexer.Created:
		return "initial"
	}
	return c.Type.String()
}
