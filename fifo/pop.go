package fifo

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Pop waits for an entry, gives it to process, and returns what process
// returns. There is one consumer: a second Pop while one is processing panics.
//
// While process runs, no lock is held and the producer goes on; the entry stays
// visible as the last known state of its object until process returns, because
// only then the consumer has it. An error from process, or a panic, changes
// nothing about that: the entry is done.
//
// Other errors: ErrClosed when the FIFO is closed and empty; the cause of ctx,
// wrapped, when ctx ends, even if something waits.
func (f *FIFO) Pop(ctx context.Context, process func(Entry) error) error {
	e, err := f.next(ctx)
	if err != nil {
		return err
	}
	defer f.done(e)
	return process(e.Entry)
}

// next takes the oldest entry into work, once there is one.
func (f *FIFO) next(ctx context.Context) (*entry, error) {
	for {
		e, err := f.shift(ctx)
		if e != nil || err != nil {
			return e, err
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
		}
	}
}

// shift is nil and no error if there is nothing to do yet.
func (f *FIFO) shift(ctx context.Context) (*entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("pop: %w", context.Cause(ctx))
	case f.head != nil && f.working != nil:
		panic("fifo: Pop while another Pop is processing")
	case f.head != nil:
		return f.shiftLocked(), nil
	case f.closed:
		return nil, ErrClosed
	}
	return nil, nil //nolint:nilnil // Nothing yet, as it says.
}

// shiftLocked takes the oldest entry into work. What it may publish is known
// now: everything that was received before the entry behind it, or everything
// at all if there is none. What is received from now on only adds to that.
func (f *FIFO) shiftLocked() *entry {
	e := f.head
	if f.head = e.next; f.head == nil {
		f.tail = nil
		e.ResourceVersion = f.received
	} else {
		e.ResourceVersion = f.head.before
	}
	e.next, f.told, f.working = nil, e.ResourceVersion, e
	f.forgetLocked(e.Key)
	offer(f.room)
	return e
}

// manyItems is from where on the table of what waits is made anew once it is
// empty: a map keeps the size of its best day, and the first list is such a
// day.
const manyItems = 1024

func (f *FIFO) forgetLocked(key types.NamespacedName) {
	f.most = max(f.most, len(f.items))
	delete(f.items, key)
	if len(f.items) == 0 && f.most > manyItems {
		f.items, f.most = map[types.NamespacedName]*entry{}, 0
	}
}

// done lets go of an entry that was processed.
func (f *FIFO) done(e *entry) {
	f.release(e)
	if f.cfg.Trace.Done != nil {
		f.cfg.Trace.Done(e.Entry)
	}
}

func (f *FIFO) release(e *entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.working = nil
	if !f.initial && e.sequence >= f.lastSeen {
		select {
		case <-f.synced:
		default:
			close(f.synced)
		}
	}
}
