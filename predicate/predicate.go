package predicate

import (
	"millrace/indexer"
	"millrace/wire"
)

// Func says whether a change is worth a reconcile.
type Func func(indexer.Change) bool

// GenerationChanged lets an update pass if somebody has changed what is asked
// for: the generation moved, a deletionTimestamp was set, or the object is
// another one (a new UID). A resync passes: that its object has not changed is
// the point of it. Everything that is not an update passes too.
func GenerationChanged(c indexer.Change) bool {
	before, after, ok := update(c)
	return !ok || c.Resync ||
		before.Generation() != after.Generation() ||
		before.Deleting() != after.Deleting() ||
		before.UID() != after.UID()
}

// LabelChanged lets an update pass if a label was set, changed or taken away, a
// deletionTimestamp was set, or the object is another one. A resync passes, and
// everything that is not an update. Labels move no generation: who watches both
// says Or(GenerationChanged, LabelChanged).
func LabelChanged(c indexer.Change) bool {
	before, after, ok := update(c)
	return !ok || c.Resync ||
		!sameLabels(before, after) ||
		before.Deleting() != after.Deleting() ||
		before.UID() != after.UID()
}

func sameLabels(a, b *wire.Object) bool {
	more := 0
	for key, value := range a.Labels() {
		if other, ok := b.Label(key); !ok || other != value {
			return false
		}
		more++
	}
	for range b.Labels() {
		more--
	}
	return more == 0
}

// NoGeneration lets an update pass if the server counts no generation for the
// object, neither before nor after. It is meant as the other half of
// GenerationChanged, which sees nothing happen to such an object. Everything
// that is not an update passes.
func NoGeneration(c indexer.Change) bool {
	before, after, ok := update(c)
	return !ok || before.Generation() == 0 && after.Generation() == 0
}

// Dependent is for objects that a reconciler has made for another one. It drops
// creations (the reconciler has just made it), generic changes, and updates of
// nothing but the status, managedFields and resourceVersion, resyncs among
// them. Deletions always pass: the reconciler will want to make it again.
//
// It must not stand between a Pod and its TaskRun; see the package.
func Dependent(c indexer.Change) bool {
	switch c.Type {
	case indexer.Created, indexer.Generic:
		return false
	case indexer.Updated, indexer.Deleted:
	}
	before, after, ok := update(c)
	if !ok || before.Generation() != after.Generation() {
		return true
	}
	return wire.Changed(before, after, wire.Path{"status"})
}

// update is the two states of an update that can be judged.
func update(c indexer.Change) (before, after *wire.Object, ok bool) {
	ok = c.Type == indexer.Updated && c.Old != nil && c.New != nil
	return c.Old, c.New, ok
}

// And passes what all of them pass; without any, everything.
func And(all ...Func) Func {
	return func(c indexer.Change) bool {
		for _, p := range all {
			if !p(c) {
				return false
			}
		}
		return true
	}
}

// Or passes what one of them passes; without any, nothing.
func Or(some ...Func) Func {
	return func(c indexer.Change) bool {
		for _, p := range some {
			if p(c) {
				return true
			}
		}
		return false
	}
}

// Not passes what p does not.
func Not(p Func) Func {
	return func(c indexer.Change) bool { return !p(c) }
}
