package fifo

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Begin starts a list: what exists now it has to show, or it is gone.
func (f *FIFO) Begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unseen = make(map[types.NamespacedName]struct{}, f.shown)
	f.shown = 0
	for key := range f.known.Keys() {
		f.unseen[key] = struct{}{}
	}
	for key := range f.items {
		f.unseen[key] = struct{}{}
	}
	if f.working != nil {
		f.unseen[f.working.Key] = struct{}{}
	}
}

// Keep takes one object of a list that could not be read, by its key. It is
// there, so the list does not delete it; that is all there is to know of it,
// and the consumer has it as it was. Between lists it says nothing.
func (f *FIFO) Keep(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.showLocked(key)
}

// showLocked notes that the list on its way, if there is one, has this key.
func (f *FIFO) showLocked(key types.NamespacedName) {
	if f.unseen != nil {
		delete(f.unseen, key)
		f.shown++
	}
}

// Abort ends a list that was not read to its end. What it has shown is true;
// what it has not shown may well be there, so nothing is deleted.
func (f *FIFO) Abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unseen = nil
}

// Commit ends a list that was complete as of resourceVersion: what it has not
// shown is gone. These come last, in the order of their keys.
func (f *FIFO) Commit(resourceVersion string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for _, key := range sorted(maps.Keys(f.unseen)) {
		f.removeLocked(key, nil)
	}
	f.unseen = nil
	f.reachLocked(resourceVersion)
	if f.initial {
		f.endInitialLocked()
	}
}

// endInitialLocked notes what has to be processed for the first list to be
// done: all that is queued now, which is its end at least.
func (f *FIFO) endInitialLocked() {
	if f.head == nil {
		f.markLocked()
	}
	f.initial, f.lastSeen = false, f.sequence
}

// sorted orders keys by namespace and name.
func sorted(keys iter.Seq[types.NamespacedName]) []types.NamespacedName {
	return slices.SortedFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
}

// Resync queues a Sync for every object that the consumer has and that has no
// news, in the order of their keys. It is a replay of the cache: the consumer
// looks again at what it holds, and no event that was missed is repaired by it.
// It may be called by any goroutine.
func (f *FIFO) Resync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for _, key := range sorted(f.known.Keys()) {
		f.remindLocked(key)
	}
}

// remindLocked queues a Sync, unless the object has something to tell already.
func (f *FIFO) remindLocked(key types.NamespacedName) {
	if f.items[key] != nil || f.working != nil && f.working.Key == key {
		return
	}
	uid, _, ok := f.known.Known(key)
	if !ok {
		return
	}
	e := f.entryLocked(key)
	e.Deltas = append(e.Deltas, Delta{Type: Sync, UID: uid, Received: time.Now()})
}
