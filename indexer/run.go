package indexer

import (
	"context"
	"errors"
	"fmt"

	"millrace/fifo"
)

// Run takes entries from f into the store until ctx ends or f is closed and
// empty, and returns nil then: to be told to stop is no failure. It is the only
// writer; a second Run at the same time is an error.
//
// Every handler is called with every change, one after the other, here, after
// the store holds it and before the next entry is taken. So handlers must not
// wait: they put a key into a queue, and that is all. A handler that panics
// takes Run with it, and should take the program: the store is whole and its
// lock is free, but that change has not reached the handlers that come after,
// and nothing would ever tell them.
func (x *Indexer) Run(ctx context.Context, f *fifo.FIFO, handlers ...func(Change)) error {
	if !x.running.CompareAndSwap(false, true) {
		return fmt.Errorf("indexer %s runs already", x.name)
	}
	defer x.running.Store(false)
	var changes []Change
	var failed int64
	process := func(e fifo.Entry) error {
		changes = x.apply(changes[:0], e)
		failed = x.logFailures(ctx, failed)
		tell(changes, handlers)
		clear(changes)
		return nil
	}
	for {
		err := f.Pop(ctx, process)
		x.noteSynced(f)
		if errors.Is(err, fifo.ErrClosed) || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("indexer %s: %w", x.name, err)
		}
	}
}

func tell(changes []Change, handlers []func(Change)) {
	for _, c := range changes {
		for _, handle := range handlers {
			handle(c)
		}
	}
}

// Synced is closed once the first list is in the store and the handlers have
// seen every object of it: their keys are in the queues.
func (x *Indexer) Synced() <-chan struct{} { return x.synced }

func (x *Indexer) isSynced() bool {
	select {
	case <-x.synced:
		return true
	default:
		return false
	}
}

// noteSynced passes on that the FIFO is synced. Only Run calls it.
func (x *Indexer) noteSynced(f *fifo.FIFO) {
	if x.isSynced() {
		return
	}
	select {
	case <-f.Synced():
		close(x.synced)
	default:
	}
}
