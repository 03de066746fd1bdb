package fifo

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// errIdentity is the fault of a transform that makes another object.
var errIdentity = errors.New("the transform changed key, UID or resourceVersion")

// Add takes the object of an ADDED event. What the event is called makes no
// difference: the FIFO works out what is new.
//
// An error says that the transform refused the object, or ErrClosed. The object
// is then as the consumer last knew it; a list that is on its way counts it as
// there. Other objects are not concerned.
// The object may be lent (see wire.Event): what is kept is its own. Of an object
// that is known as it is, nothing is.
func (f *FIFO) Add(o *wire.Object) error { return f.take(o, o.ResourceVersion()) }

// Update takes the object of a MODIFIED event. See Add.
func (f *FIFO) Update(o *wire.Object) error { return f.take(o, o.ResourceVersion()) }

// Item takes one object of a list. See Add.
func (f *FIFO) Item(o *wire.Object) error { return f.take(o, o.ResourceVersion()) }

// Found takes an object that was asked for by its key, as it is where the stream
// stands: its own resourceVersion may be long past, so it does not say how far
// the stream has come. Never between Begin and the end of a list. See Add.
func (f *FIFO) Found(o *wire.Object) error { return f.take(o, "") }

// Gone takes the answer that there is no such object where the stream stands.
func (f *FIFO) Gone(key types.NamespacedName) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.removeLocked(key, nil)
	}
}

// take takes an object in; reached is how far the stream has come with it, empty
// if it says nothing about that.
func (f *FIFO) take(o *wire.Object, reached string) error {
	if f.unchanged(o, reached) {
		return nil
	}
	kept, err := f.transform(o)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	if err == nil {
		e := f.entryLocked(o.Key())
		e.Deltas = upsert(e.Deltas, f.latestLocked(o.Key()), f.newsLocked(kept))
	}
	f.reachByLocked(reached)
	return err
}

// unchanged passes over an object that is known as it is, without transforming
// it: most of a relist is that.
func (f *FIFO) unchanged(o *wire.Object, reached string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.showLocked(o.Key())
	if f.closed || !f.latestLocked(o.Key()).shows(o) {
		return false
	}
	f.reachByLocked(reached)
	return true
}

// transform makes the object that is kept, which is this queue's own: the one
// that came in is lent by whoever reads the stream.
func (f *FIFO) transform(o *wire.Object) (*wire.Object, error) {
	if f.cfg.Transform == nil {
		return o.Own(), nil
	}
	kept, err := f.try(o)
	if err == nil && (kept == nil || kept.Key() != o.Key() || stateOf(kept) != stateOf(o)) {
		err = errIdentity
	}
	if err != nil {
		return nil, fmt.Errorf("transform %s: %w", o.Key(), err)
	}
	return kept.Own(), nil
}

// try calls the transform. That it panics over an object is that object's loss, and
// not the process's: it would be listed again after every restart.
func (f *FIFO) try(o *wire.Object) (kept *wire.Object, err error) {
	defer func() {
		if v := recover(); v != nil {
			kept, err = nil, fmt.Errorf("panic: %v", v)
		}
	}()
	return f.cfg.Transform(o)
}

// Delete takes the object of a DELETED event, in its last state. It is always
// taken in: if the transform refuses that state, the deletion goes on without
// it. An object that nobody knows was never there for the consumer, and is
// passed over. The error is ErrClosed or nil.
func (f *FIFO) Delete(o *wire.Object) error {
	kept, err := f.transform(o)
	if err != nil {
		kept = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	f.removeLocked(o.Key(), kept)
	f.reachByLocked(o.ResourceVersion())
	return nil
}

// removeLocked queues the end of an object, if it exists; o is its last state
// or nil.
func (f *FIFO) removeLocked(key types.NamespacedName, o *wire.Object) {
	was := f.latestLocked(key)
	if !was.exists {
		return
	}
	e := f.entryLocked(key)
	e.Deltas = remove(e.Deltas, was, f.newsLocked(o))
}

// Bookmark takes the news that everything up to resourceVersion has been told.
func (f *FIFO) Bookmark(resourceVersion string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.reachLocked(resourceVersion)
	}
}

// reachByLocked notes how far an event has brought the stream. The items of a
// list are in no order of time: until it is committed they bring it nowhere.
func (f *FIFO) reachByLocked(resourceVersion string) {
	if f.unseen == nil {
		f.reachLocked(resourceVersion)
	}
}

func (f *FIFO) newsLocked(o *wire.Object) news {
	return news{object: o, initial: f.initial && f.unseen != nil, received: time.Now()}
}
