package indexer

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/wire"
)

// Apply takes an entry into the store and says what changed, in order. It is a
// fold: no clock, no I/O, no goroutine, so the same entries make the same store
// and the same changes. The store holds an entry as a whole or not at all:
// readers never see an object between two deltas of one entry.
//
// Run calls it. Whoever calls it himself must be the only writer.
func (x *Indexer) Apply(e fifo.Entry) []Change { return x.apply(nil, e) }

func (x *Indexer) apply(changes []Change, e fifo.Entry) []Change {
	now := x.latest(e.Key)
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range e.Deltas {
		changes, now = x.foldLocked(changes, e.Key, now, d)
	}
	x.publishLocked(e.ResourceVersion)
	return changes
}

// latest is what the store holds under a key, or nil. If it is packed, it is
// unpacked here, where nobody waits for it. Between here and the lock nobody
// else puts another object there, at most the same one in its other form.
func (x *Indexer) latest(key types.NamespacedName) *wire.Object {
	f, ok := x.find(key)
	if !ok {
		return nil
	}
	return x.open(f.cell)
}

// foldLocked takes one delta into a store that holds now under the key, and
// returns what it holds then.
func (x *Indexer) foldLocked(changes []Change, key types.NamespacedName, now *wire.Object, d fifo.Delta) ([]Change, *wire.Object) {
	c := Change{Key: key, Initial: d.Initial, Merged: d.Merged, Received: d.Received}
	switch d.Type {
	case fifo.Added, fifo.Updated:
		if now != nil && now.UID() != d.Object.UID() {
			changes = append(changes, Change{Type: Deleted, Key: key, Old: now, FinalStateUnknown: true})
			x.dropLocked(key, now)
			now = nil
		}
		c.Type, c.New = Created, d.Object
		if now != nil {
			c.Type, c.Old = Updated, now
		}
		x.putLocked(key, now, d.Object, d.Initial)
		now = d.Object
	case fifo.Deleted:
		c.Type, c.Old, c.FinalStateUnknown = Deleted, d.Object, d.FinalStateUnknown
		if c.Old == nil {
			c.Old = now
		}
		if now != nil {
			x.dropLocked(key, now)
			now = nil
		}
		if c.Old == nil {
			return changes, nil
		}
	case fifo.Sync:
		if now == nil {
			return changes, nil
		}
		c.Type, c.Old, c.New, c.Resync = Updated, now, now, true
	default:
		return changes, now
	}
	return append(changes, c), now
}

// putLocked stores an object, plain: in the place of was, or in a new one if
// that is nil.
func (x *Indexer) putLocked(key types.NamespacedName, was, o *wire.Object, initial bool) {
	x.saved += int64(o.Saved())
	p, ok := x.keys.get(key, &x.cells)
	if ok {
		x.leaveLocked(x.cells.at(p))
		for _, i := range x.indices {
			i.move(p, was, o)
		}
	} else {
		p = x.cells.take()
	}
	c := cell{plain: o}
	x.cells.set(p, c)
	x.enterLocked(c)
	x.policy.written(x.cells.read(p), initial)
	if ok {
		return
	}
	x.keys.add(key, p)
	x.order.add(p, &x.cells)
	for _, i := range x.indices {
		i.add(p, o)
	}
}

func (x *Indexer) dropLocked(key types.NamespacedName, was *wire.Object) {
	p, ok := x.keys.get(key, &x.cells)
	if !ok {
		return
	}
	for _, i := range x.indices {
		i.drop(p, was)
	}
	x.order.drop(p, &x.cells)
	x.keys.drop(key, &x.cells)
	x.leaveLocked(x.cells.at(p))
	x.cells.drop(p)
	if farBelow(x.order.n, x.cells.size()) {
		x.compactLocked()
	}
}

// compactLocked makes everything anew in the size of what is left, and numbers
// the places in the order of keys: after a mass deletion, the survivors are
// strewn over all cells, and would keep every one of them.
func (x *Indexer) compactLocked() {
	to := make([]place, x.cells.size())
	keys := newTable(x.order.n)
	old := x.cells.view
	x.cells.view, x.cells.unused = view{}, nil
	for _, r := range x.order.runs {
		for _, p := range r.places {
			q := x.cells.take()
			to[p] = q
			x.cells.set(q, old.at(p))
			x.cells.read(q).Store(old.read(p).Load())
			keys.add(x.cells.key(q), q)
		}
	}
	x.keys = keys
	x.order.renumber(to, x.cells.moments)
	for _, i := range x.indices {
		i.renumber(to)
	}
}
