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
	settled chan struct{} // closed when the wait is over
	err     error         // why it was in vain; nil if the store has come to version
}

// add takes in a waiter, behind those of the same version.
func (w *waiters) add(version string) *waiter {
	at, _ := slices.BinarySearchFunc(*w, version, func(other *waiter, version string) int {
		if order, err := wire.CompareResourceVersions(other.version, version); err == nil && order > 0 {
			return 1
		}
		return -1
	})
	one := &waiter{version: version, settled: make(chan struct{})}
	*w = slices.Insert(*w, at, one)
	return one
}

// drop lets a waiter go who does not want to wait any longer.
func (w *waiters) drop(one *waiter) {
	if i := slices.Index(*w, one); i >= 0 {
		*w = slices.Delete(*w, i, i+1)
	}
}

// wake wakes all whose version has come; or all of them, with an error, if it
// cannot be said any more whose has.
func (w *waiters) wake(version string) {
	n := 0
	for _, one := range *w {
		order, err := wire.CompareResourceVersions(version, one.version)
		if err != nil {
			w.disappoint(err)
			return
		}
		if order < 0 {
			break
		}
		close(one.settled)
		n++
	}
	*w = slices.Delete(*w, 0, n)
}

// disappoint ends all waits with an error.
func (w *waiters) disappoint(err error) {
	for _, one := range *w {
		one.err = err
		close(one.settled)
	}
	*w = slices.Delete(*w, 0, len(*w))
}

// RewoundError says that the server's resourceVersions have gone back, as they do
// when it was restored from a backup. What was waited for may be lost, or come
// to be when the server counts to that number again, in days. Only the server
// can tell.
type RewoundError struct {
	Name   string // of the indexer
	Before string // how far it had come
	After  string // where the server is now
}

func (e *RewoundError) Error() string {
	return fmt.Sprintf("the server has gone back: %s were at resourceVersion %s, and are at %s", e.Name, e.Before, e.After)
}

// Rewinds is how often the server's resourceVersions have gone back. Two of them
// can be compared if they were read while it was the same number.
func (x *Indexer) Rewinds() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.rewinds
}

// ResourceVersion is how far the copy has come: all that the stream said up to
// there is in it. Single objects may be ahead, and one that could not be taken in
// (it is in the reflector's quarantine) is behind: to stand still for it would hold
// up everybody who waits. It is empty until the first list is in, and goes back if
// the server does.
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
	before := x.version
	x.version = resourceVersion
	if order, err := wire.CompareResourceVersions(resourceVersion, before); err == nil && order < 0 {
		x.rewinds++
		x.waiters.disappoint(&RewoundError{Name: x.name, Before: before, After: resourceVersion})
		return
	}
	x.waiters.wake(resourceVersion)
}

// WaitFor returns when the copy has come as far as resourceVersion: a write
// that was answered with it can be read here from then on, unless it was
// overtaken. That is read-your-own-writes (KEP-5647). It returns at once if it
// can.
//
// How long that takes is up to the stream; if nothing happens on the server,
// until the next bookmark. So bound it by ctx, whose cause comes back, wrapped.
// Where resourceVersions cannot be compared, the one asked for or the copy's, that
// is an error at once; a *RewoundError comes when the server goes back meanwhile.
func (x *Indexer) WaitFor(ctx context.Context, resourceVersion string) error {
	w, err := x.wait(resourceVersion)
	if w == nil {
		return err
	}
	select {
	case <-w.settled:
		if w.err != nil {
			return fmt.Errorf("wait for %s at resourceVersion %s: %w", x.name, resourceVersion, w.err)
		}
		return nil
	case <-ctx.Done():
		x.giveUp(w)
		return fmt.Errorf("wait for %s at resourceVersion %s, now at %q: %w",
			x.name, resourceVersion, x.ResourceVersion(), context.Cause(ctx))
	}
}

// wait makes a waiter, or nil if there is nothing to wait for: the copy has come
// that far, or there is an error.
func (x *Indexer) wait(resourceVersion string) (*waiter, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	reached, err := covers(x.version, resourceVersion)
	if err != nil {
		return nil, fmt.Errorf("wait for %s: %w", x.name, err)
	}
	if reached {
		return nil, nil //nolint:nilnil // Nothing to wait for, as it says.
	}
	return x.waiters.add(resourceVersion), nil
}

func (x *Indexer) giveUp(w *waiter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiters.drop(w)
}

// covers says whether a copy that has come to a version has what is wanted. One
// that has come nowhere yet has nothing.
func covers(version, wanted string) (bool, error) {
	if version == "" {
		_, err := wire.CompareResourceVersions(wanted, wanted) // can it be compared?
		return false, err
	}
	order, err := wire.CompareResourceVersions(version, wanted)
	return order >= 0 && err == nil, err
}
