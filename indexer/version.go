package indexer

import (
	"context"
	"fmt"
	"slices"

	"millrace/wire"
)

// waiters is who waits for the copy to come further, those with the least to
// wait for first. So news costs one comparison while it is nobody's turn, and
// wakes no one but whose turn it is: of a thousand that wait on a busy stream,
// each event would else wake all.
type waiters []*waiter

type waiter struct {
	version string
	reached chan struct{} // closed when the store has come to version
}

// add takes in a waiter, behind those of the same version.
func (w *waiters) add(version string) *waiter {
	at, _ := slices.BinarySearchFunc(*w, version, func(other *waiter, version string) int {
		if order, err := wire.CompareResourceVersions(other.version, version); err == nil && order > 0 {
			return 1
		}
		return -1
	})
	one := &waiter{version: version, reached: make(chan struct{})}
	*w = slices.Insert(*w, at, one)
	return one
}

// drop lets a waiter go who does not want to wait any longer.
func (w *waiters) drop(one *waiter) {
	if i := slices.Index(*w, one); i >= 0 {
		*w = slices.Delete(*w, i, i+1)
	}
}

// wake wakes all whose version has come.
func (w *waiters) wake(version string) {
	n := 0
	for _, one := range *w {
		if order, err := wire.CompareResourceVersions(version, one.version); err != nil || order < 0 {
			break
		}
		close(one.reached)
		n++
	}
	*w = slices.Delete(*w, 0, n)
}

// ResourceVersion is how far the copy has come: all that the stream said up to
// there is in it. Single objects may be ahead. It is empty until the first list
// is in, and goes back if the server does.
func (x *Indexer) ResourceVersion() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// publishLocked notes how far the copy has come.
func (x *Indexer) publishLocked(resourceVersion string) {
	if resourceVersion == "" || resourceVersion == x.version {
		return
	}
	x.version = resourceVersion
	x.waiters.wake(resourceVersion)
}

// WaitFor returns when the copy has come as far as resourceVersion: a write
// that was answered with it can be read here from then on, unless it was
// overtaken. That is read-your-own-writes (KEP-5647). It returns at once if it
// can.
//
// How long that takes is up to the stream; if nothing happens on the server,
// until the next bookmark. So bound it by ctx, whose cause comes back, wrapped.
// A resourceVersion that cannot be compared is an error at once.
func (x *Indexer) WaitFor(ctx context.Context, resourceVersion string) error {
	if reached, err := x.covers(x.ResourceVersion(), resourceVersion); reached || err != nil {
		return err
	}
	w := x.wait(resourceVersion)
	if w == nil {
		return nil
	}
	select {
	case <-w.reached:
		return nil
	case <-ctx.Done():
		x.giveUp(w)
		return fmt.Errorf("wait for %s at resourceVersion %s, now at %q: %w",
			x.name, resourceVersion, x.ResourceVersion(), context.Cause(ctx))
	}
}

// wait makes a waiter, or nil if the copy has come that far in between.
func (x *Indexer) wait(resourceVersion string) *waiter {
	x.mu.Lock()
	defer x.mu.Unlock()
	if reached, _ := x.covers(x.version, resourceVersion); reached {
		return nil
	}
	return x.waiters.add(resourceVersion)
}

func (x *Indexer) giveUp(w *waiter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiters.drop(w)
}

func (x *Indexer) covers(version, wanted string) (bool, error) {
	nothing := version == ""
	if nothing {
		version = wanted // compared with itself, which only says whether it can be compared
	}
	order, err := wire.CompareResourceVersions(version, wanted)
	if err != nil {
		return false, fmt.Errorf("wait for %s: %w", x.name, err)
	}
	return order >= 0 && !nothing, nil
}
