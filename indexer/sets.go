package indexer

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// sets keeps slots by a value, each set in the order of keys. There is no empty
// set: a value that nobody has any more costs nothing, however many such values
// come and go (issue 84959 of kubernetes).
//
// A set is a sorted slice: eight bytes for each member, no work to read it in
// order, and cheap to fill, since lists come in that order. Taking one out of
// the middle of a very large set moves the rest: for fifty thousand members
// some microseconds.
type sets[V comparable] map[V][]*slot

func (m sets[V]) add(v V, s *slot) {
	set := m[v]
	if i, found := search(set, s.object.Key()); !found {
		m[v] = slices.Insert(set, i, s)
	}
}

func (m sets[V]) drop(v V, s *slot) {
	set := m[v]
	i, found := search(set, s.object.Key())
	if !found {
		return
	}
	if len(set) == 1 {
		delete(m, v)
		return
	}
	m[v] = shrunk(slices.Delete(set, i, i+1))
}

// shrunk gives memory back when three quarters of it are not needed any more.
func shrunk(set []*slot) []*slot {
	if cap(set) < 64 || len(set) > cap(set)/4 {
		return set
	}
	return slices.Clone(set)
}

func (m sets[V]) objects(v V) []*wire.Object {
	set := m[v]
	if len(set) == 0 {
		return nil
	}
	objects := make([]*wire.Object, len(set))
	for i, s := range set {
		objects[i] = s.object
	}
	return objects
}

func search(set []*slot, key types.NamespacedName) (int, bool) {
	return slices.BinarySearchFunc(set, key, func(s *slot, key types.NamespacedName) int {
		at := s.object.Key()
		return cmp.Or(cmp.Compare(at.Namespace, key.Namespace), cmp.Compare(at.Name, key.Name))
	})
}
