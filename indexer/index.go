package indexer

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// Index finds objects by a value that is computed from them. It is made by
// AddIndex, and is the only way to ask it: there is no name to misspell and no
// value of a wrong type to pass.
//
// It answers by what an object has, as of its newest state. That is less than a
// label query: no operators, no absence.
type Index[V comparable] struct {
	x      *Indexer
	values func(*wire.Object) []V
	sets   sets[V]
}

// AddIndex adds an index over what x holds and will hold. values says under
// which values an object is to be found; none is fine, and one twice counts
// once. It must depend on nothing but the object, since it is asked again when
// the object goes; it is called with x locked, so it must not call x.
//
// It may be called at any time, also while x runs. Two indices of one name are
// a mistake in the program, and panic.
//
// If values panics, so does who asked: AddIndex, which then adds no index, or
// Apply, and with it Run. The lock is free then, so that the program can end in
// good order, and it should: the store may have the object in one index and not
// in another.
func AddIndex[V comparable](x *Indexer, name string, values func(*wire.Object) []V) *Index[V] {
	i := &Index[V]{x: x, values: values, sets: sets[V]{}}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.names[name] {
		panic("indexer " + x.name + ": index " + name + " exists already")
	}
	for _, s := range x.objects {
		i.add(s)
	}
	x.names[name] = true
	x.indices = append(x.indices, i)
	return i
}

// Keys is the keys of all objects with that value, sorted.
func (i *Index[V]) Keys(v V) []types.NamespacedName {
	i.x.mu.RLock()
	defer i.x.mu.RUnlock()
	keys := make([]types.NamespacedName, 0, len(i.sets[v]))
	for _, s := range i.sets[v] {
		keys = append(keys, s.object.Key())
	}
	return keys
}

// Objects is all objects with that value, in the order of their keys, as of one
// moment.
func (i *Index[V]) Objects(v V) []*wire.Object {
	i.x.mu.RLock()
	defer i.x.mu.RUnlock()
	return i.sets.objects(v)
}

// Values is how many different values there are.
func (i *Index[V]) Values() int {
	i.x.mu.RLock()
	defer i.x.mu.RUnlock()
	return len(i.sets)
}

// index is what the store needs of an Index of any type. All of it is called
// under the store's lock.
type index interface {
	add(s *slot)
	drop(s *slot)
	move(s *slot, to *wire.Object)
}

func (i *Index[V]) add(s *slot) {
	for _, v := range i.values(s.object) {
		i.sets.add(v, s)
	}
}

func (i *Index[V]) drop(s *slot) {
	for _, v := range i.values(s.object) {
		i.sets.drop(v, s)
	}
}

// move goes before the slot gets a new object: out of where the old one is,
// into where the new one belongs. The old values come from the object that the
// store holds, which nobody can have changed.
func (i *Index[V]) move(s *slot, to *wire.Object) {
	was, now := i.values(s.object), i.values(to)
	if slices.Equal(was, now) {
		return
	}
	for _, v := range was {
		i.sets.drop(v, s)
	}
	for _, v := range now {
		i.sets.add(v, s)
	}
}

// OwnerUID is the values of an index by owner: the UID of every owner, not of
// the controller or of the first one only.
func OwnerUID(o *wire.Object) []types.UID {
	uids := make([]types.UID, 0, len(o.Owners()))
	for _, owner := range o.Owners() {
		uids = append(uids, owner.UID)
	}
	return uids
}

// Label is the values of an index by one label: its value, or none where it is
// not set.
func Label(key string) func(*wire.Object) []string {
	return func(o *wire.Object) []string {
		value, ok := o.Label(key)
		if !ok {
			return nil
		}
		return []string{value}
	}
}
