package reconcile

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// Cache is a local copy of a resource; an *indexer.Indexer is one. The gate tells
// caches apart with ==, so it should be a pointer.
type Cache interface {
	// WaitFor returns nil when all that the server had told up to
	// resourceVersion can be read in the cache, and an error when ctx ends first
	// or when that will never be or cannot be known: the two cannot be compared,
	// or the server has gone back.
	WaitFor(ctx context.Context, resourceVersion string) error
	// Rewinds is how often the server's resourceVersions have gone back, since
	// it was restored from a backup. A write from before that may be lost, and
	// its resourceVersion be given to another.
	Rewinds() int
}

// maxStaleWaits is after how many waits in vain a write is no longer waited for
// but asked about. A watch that hangs is found out sooner than that, so it is
// likely that something is wrong which nobody here has thought of.
const maxStaleWaits = 3

// Gate keeps a key from being reconciled on caches that have not seen yet what
// its last reconcile wrote (read your own writes: KEP-5647). Without it, a
// worker that is quicker than the watch makes the same child twice.
//
// A reconcile says Wrote after each write whose answer it has, and Doubt after
// one whose answer was lost. The pool calls Wait before each reconcile. A
// reconcile that finds its key InDoubt must read from the server what it would
// have read from the caches, and then says Clear.
//
// All methods may be called from anywhere. What is known about a key is kept
// until a Wait has seen it through, or Drop.
type Gate struct {
	mu     sync.Mutex
	keys   map[types.NamespacedName]*account
	echoes echoes
}

// account is what one key has to wait for. There is none for a key that has
// nothing to wait for and is not in doubt.
type account struct {
	writes []write // one for each cache, the latest
	stale  int     // waits in vain, since all writes were last seen
	doubt  bool
}

type write struct {
	cache           Cache
	resourceVersion string
	rewinds         int // of the cache, when the write was done
}

// NewGate makes a gate that is open for every key.
func NewGate() *Gate {
	return &Gate{keys: map[types.NamespacedName]*account{}}
}

// Wrote says that a write for key was answered with resourceVersion, and that
// cache is where it will be seen. The empty one, of an answer without an
// object, is nothing to wait for.
func (g *Gate) Wrote(key types.NamespacedName, cache Cache, resourceVersion string) {
	if resourceVersion == "" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.echoes.note(key, resourceVersion)
	a := g.accountLocked(key)
	w := write{cache, resourceVersion, cache.Rewinds()}
	i := slices.IndexFunc(a.writes, func(w write) bool { return w.cache == cache })
	if i < 0 {
		a.writes = append(a.writes, w)
		return
	}
	if a.writes[i].rewinds != w.rewinds { // that write may be lost
		a.doubt = true
	}
	if w.follows(a.writes[i]) {
		a.writes[i] = w
	}
}

// follows tells whether w is the later write of two in one cache. Of two that
// cannot be compared, the one that was told later is.
func (w write) follows(other write) bool {
	order, err := resourceversion.CompareResourceVersion(w.resourceVersion, other.resourceVersion)
	return err != nil || order > 0 || w.rewinds != other.rewinds
}

// Doubt says that the answer to a write for key was lost: it may be done, and
// may be seen at any time, or never.
func (g *Gate) Doubt(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.accountLocked(key).doubt = true
}

// InDoubt tells whether the caches cannot be trusted about key, even after Wait.
func (g *Gate) InDoubt(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.keys[key]
	return a != nil && a.doubt
}

// Clear ends the doubt, after the server was asked.
func (g *Gate) Clear(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if a := g.keys[key]; a != nil {
		a.doubt = false
		g.closeLocked(key, a)
	}
}

// Drop forgets key: its object is gone.
func (g *Gate) Drop(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.keys, key)
	g.echoes.take(key)
}

// lastWrites is what was written for key since the last call.
func (g *Gate) lastWrites(key types.NamespacedName) []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.echoes.take(key)
}

// wrote tells whether anything was written for key since lastWrites.
func (g *Gate) wrote(key types.NamespacedName) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.echoes.keys[key]) > 0
}

// Wait returns nil when every cache has seen what was last written for key, at
// once if there is nothing to wait for. It returns a *StaleError when ctx ends
// first. After three of those in a row, or at once if the server has gone back
// since the write or a cache says that it will never know, the key is in doubt
// instead, and need not wait.
func (g *Gate) Wait(ctx context.Context, key types.NamespacedName) error {
	for _, w := range g.owed(key) {
		if w.cache.Rewinds() != w.rewinds {
			g.giveUp(key, w)
			continue
		}
		err := w.cache.WaitFor(ctx, w.resourceVersion)
		switch {
		case err == nil:
			g.paid(key, w)
		case ctx.Err() == nil:
			g.giveUp(key, w)
		default:
			g.late(key)
			return &StaleError{Key: key, ResourceVersion: w.resourceVersion, Err: err}
		}
	}
	return nil
}

// StaleError is a cache that has not come as far as the key's own last write.
type StaleError struct {
	Key             types.NamespacedName
	ResourceVersion string // of the write
	Err             error  // of Cache.WaitFor
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("own write at resourceVersion %s is not in the cache: %v", e.ResourceVersion, e.Err)
}

func (e *StaleError) Unwrap() error { return e.Err }

func (g *Gate) accountLocked(key types.NamespacedName) *account {
	a := g.keys[key]
	if a == nil {
		a = &account{}
		g.keys[key] = a
	}
	return a
}

// closeLocked ends an account with nothing on it. One with a doubt stays, but
// owes nothing.
func (g *Gate) closeLocked(key types.NamespacedName, a *account) {
	if len(a.writes) > 0 {
		return
	}
	a.stale = 0
	if !a.doubt {
		delete(g.keys, key)
	}
}

func (g *Gate) owed(key types.NamespacedName) []write {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.keys[key]
	if a == nil {
		return nil
	}
	return slices.Clone(a.writes)
}

// paid takes w off the account, unless a later write has come in its place.
func (g *Gate) paid(key types.NamespacedName, w write) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.keys[key]
	if a == nil {
		return
	}
	a.writes = slices.DeleteFunc(a.writes, func(other write) bool { return other == w })
	g.closeLocked(key, a)
}

// giveUp takes w off the account, and leaves a doubt in its place.
func (g *Gate) giveUp(key types.NamespacedName, w write) {
	g.Doubt(key)
	g.paid(key, w)
}

// late counts a wait in vain.
func (g *Gate) late(key types.NamespacedName) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.keys[key]
	if a == nil {
		return
	}
	a.stale++
	if a.stale >= maxStaleWaits {
		*a = account{doubt: true}
	}
}
