package fifo

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Begin starts a list: from here on, what it shows is noted.
func (f *FIFO) Begin() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = map[types.NamespacedName]struct{}{}
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
	if f.seen != nil {
		f.seen[key] = struct{}{}
	}
}

// Abort ends a list that was not read to its end. What it has shown is true;
// what it has not shown may well be there, so nothing is deleted.
func (f *FIFO) Abort() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = nil
}

// Commit ends a list that was complete as of resourceVersion: what it has not
// shown is gone. These come last, in the order of their keys.
func (f *FIFO) Commit(resourceVersion string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	for _, key := range f.vanishedLocked() {
		f.removeLocked(key, nil)
	}
	f.seen = nil
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

// vanishedLocked is every key that exists on the way or at the consumer, and
// that the list has not shown.
func (f *FIFO) vanishedLocked() []types.NamespacedName {
	var keys []types.NamespacedName
	consider := func(key types.NamespacedName) {
		if _, shown := f.seen[key]; !shown {
			keys = append(keys, key)
		}
	}
	for key := range f.known.Keys() {
		consider(key)
	}
	for key := range f.items {
		consider(key)
	}
	if f.working != nil {
		consider(f.working.Key)
	}
	return sorted(keys)
}

// sorted orders keys by namespace and name, each of them once.
func sorted(keys []types.NamespacedName) []types.NamespacedName {
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(keys)
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
	for _, key := range sorted(slices.Collect(f.known.Keys())) {
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
