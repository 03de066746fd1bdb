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
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range e.Deltas {
		changes = x.foldLocked(changes, e.Key, d)
	}
	x.publishLocked(e.ResourceVersion)
	return changes
}

func (x *Indexer) foldLocked(changes []Change, key types.NamespacedName, d fifo.Delta) []Change {
	s := x.objects[key]
	c := Change{Key: key, Initial: d.Initial, Merged: d.Merged}
	switch d.Type {
	case fifo.Added, fifo.Updated:
		if s != nil && s.object.UID() != d.Object.UID() {
			changes = append(changes, Change{Type: Deleted, Key: key, Old: s.object, FinalStateUnknown: true})
			x.dropLocked(key, s)
			s = nil
		}
		c.Type, c.New = Created, d.Object
		if s != nil {
			c.Type, c.Old = Updated, s.object
		}
		x.putLocked(key, s, d.Object)
	case fifo.Deleted:
		c.Type, c.Old, c.FinalStateUnknown = Deleted, d.Object, d.FinalStateUnknown
		if s != nil {
			x.dropLocked(key, s)
		}
		if c.Old == nil && s != nil {
			c.Old = s.object
		}
		if c.Old == nil {
			return changes
		}
	case fifo.Sync:
		if s == nil {
			return changes
		}
		c.Type, c.Old, c.New, c.Resync = Updated, s.object, s.object, true
	default:
		return changes
	}
	return append(changes, c)
}

// putLocked stores an object in its slot, or in a new one if s is nil.
func (x *Indexer) putLocked(key types.NamespacedName, s *slot, o *wire.Object) {
	x.bytes += int64(o.Size())
	x.saved += int64(o.Saved())
	if s != nil {
		x.bytes -= int64(s.object.Size())
		for _, i := range x.indices {
			i.move(s, o)
		}
		s.object = o
		x.objects[key] = s // the old key's strings belong to the old object
		return
	}
	s = &slot{object: o}
	x.objects[key] = s
	x.namespaces.add(key.Namespace, s)
	for _, i := range x.indices {
		i.add(s)
	}
}

func (x *Indexer) dropLocked(key types.NamespacedName, s *slot) {
	x.bytes -= int64(s.object.Size())
	for _, i := range x.indices {
		i.drop(s)
	}
	x.namespaces.drop(key.Namespace, s)
	delete(x.objects, key)
}
