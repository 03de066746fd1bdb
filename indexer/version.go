package indexer

import (
	"context"
	"fmt"

	"millrace/wire"
)

// ResourceVersion is how far the copy has come: all that the stream said up to
// there is in it. Single objects may be ahead. It is empty until the first list
// is in, and goes back if the server does.
func (x *Indexer) ResourceVersion() string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.version
}

// publishLocked wakes whoever waits when the copy has come further.
func (x *Indexer) publishLocked(resourceVersion string) {
	if resourceVersion == "" || resourceVersion == x.version {
		return
	}
	x.version = resourceVersion
	if x.moved != nil {
		close(x.moved)
		x.moved = nil
	}
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
	for {
		reached, moved, err := x.reached(resourceVersion)
		if reached || err != nil {
			return err
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s at resourceVersion %s, now at %q: %w",
				x.name, resourceVersion, x.ResourceVersion(), context.Cause(ctx))
		}
	}
}

// reached compares, and if the copy is not there yet returns a channel that is
// closed when it is worth another look.
func (x *Indexer) reached(resourceVersion string) (bool, <-chan struct{}, error) {
	if ok, err := x.covers(x.ResourceVersion(), resourceVersion); ok || err != nil {
		return ok, nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	ok, err := x.covers(x.version, resourceVersion) // it may have moved in between
	if !ok && err == nil && x.moved == nil {
		x.moved = make(chan struct{})
	}
	return ok, x.moved, err
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
