package fifo

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// What waits for one object is folded with each change that comes in. It always
// has one of these shapes, whatever the number of changes:
//
//	Added              a new object
//	Added, Updated     and what became of it
//	Updated            news of a known one
//	Deleted            the end of it
//	Deleted, Added…    the end of one life, and another under the same name
//	Sync               a reminder
//
// The consumer is told of every end that it can tell others about, and of an
// end before the beginning that follows. Of lives that began and ended while
// they waited, it is told of the first end only.

// state is how an object was last known on its way: whether it is there, which
// life of it, which version.
type state struct {
	exists  bool
	uid     types.UID
	version string
}

func stateOf(o *wire.Object) state {
	return state{exists: true, uid: o.UID(), version: o.ResourceVersion()}
}

// shows reports whether this very state of the object is known. Objects without
// resourceVersion are always news.
func (s state) shows(o *wire.Object) bool {
	return s.exists && s.uid == o.UID() && s.version == o.ResourceVersion() && s.version != ""
}

// last is the state after all deltas; ok is false where the deltas leave it as
// it was.
func last(deltas []Delta) (s state, ok bool) {
	if len(deltas) == 0 {
		return state{}, false
	}
	switch d := deltas[len(deltas)-1]; d.Type {
	case Added, Updated:
		return stateOf(d.Object), true
	case Deleted:
		return state{}, true
	default:
		return state{}, false
	}
}

// news is one change that comes in.
type news struct {
	object   *wire.Object // nil when nobody saw the change happen
	initial  bool         // it came with the first list
	received time.Time
}

// upsert folds in that the object is now like this. was is the state after
// deltas.
func upsert(deltas []Delta, was state, n news) []Delta {
	d := Delta{Object: n.object, UID: n.object.UID(), Initial: n.initial, Received: n.received}
	if was.exists && was.uid != d.UID {
		deltas, was = remove(deltas, was, news{received: n.received}), state{}
	}
	if !was.exists {
		d.Type = Added
		return append(deltas, d)
	}
	d.Type = Updated
	return update(deltas, d)
}

// update puts an Updated at the end: over an earlier one, and instead of a
// Sync.
func update(deltas []Delta, d Delta) []Delta {
	if len(deltas) == 0 {
		return append(deltas, d)
	}
	switch end := &deltas[len(deltas)-1]; end.Type {
	case Updated:
		d.Merged, d.Received, d.Initial = end.Merged+1, end.Received, end.Initial && d.Initial
		*end = d
		return deltas
	case Sync:
		*end = d
		return deltas
	default:
		return append(deltas, d)
	}
}

// remove folds in that the object is gone. was is the state after deltas; the
// object must exist in it.
func remove(deltas []Delta, was state, n news) []Delta {
	d := Delta{Type: Deleted, Object: n.object, UID: was.uid, Received: n.received}
	if n.object == nil || n.object.UID() != was.uid {
		d.FinalStateUnknown = true // it is another life's end that was seen, or none
		d.Object = newest(deltas)
	}
	first, rest := deltas[:0], deltas
	if len(deltas) > 0 && deltas[0].Type == Deleted {
		first, rest = deltas[:1], deltas[1:]
	}
	for _, r := range rest {
		if r.Type != Sync {
			d.Merged += 1 + r.Merged
			d.Received = earlier(d.Received, r.Received)
		}
	}
	clear(rest)
	if len(first) > 0 {
		first[0].Merged += 1 + d.Merged
		return first
	}
	return append(first, d)
}

// newest is the last object that waits, if any does.
func newest(deltas []Delta) *wire.Object {
	if len(deltas) == 0 {
		return nil
	}
	return deltas[len(deltas)-1].Object
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
