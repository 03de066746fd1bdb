package indexer

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/wire"
)

// Glance is what can be seen of an object without reading it: who it is, which
// state, and its facets. It costs neither a decode nor, where the object is
// packed, an unpacking; and it does not count as a read, so an object that is
// only glanced at gets packed like one that nobody wants. It is of one moment. The
// strings that it gives out may be parts of the object: clone what is to be kept
// for longer.
type Glance struct{ of cell }

// Key is the object's.
func (g Glance) Key() types.NamespacedName { return g.of.key() }

// UID is the object's.
func (g Glance) UID() types.UID {
	uid, _ := g.of.identity()
	return uid
}

// ResourceVersion is that of the state that is glanced at.
func (g Glance) ResourceVersion() string {
	_, version := g.of.identity()
	return version
}

// Size is how many bytes the object takes in the store, and packed whether it is
// packed there.
func (g Glance) Size() (bytes int, packed bool) {
	if g.of.plain != nil {
		return g.of.plain.Size(), false
	}
	return g.of.packed.Size(), true
}

// PlainSize is how many bytes the object takes in the store while it is plain: packing
// does not change it, so it is for who compares stores of which some are packed.
func (g Glance) PlainSize() int {
	if g.of.plain != nil {
		return g.of.plain.Size()
	}
	return g.of.packed.PlainSize()
}

// Facet is wire.Object.Facet.
func (g Glance) Facet(f wire.Facet) (value string, known bool) {
	if g.of.plain != nil {
		return g.of.plain.Facet(f)
	}
	return g.of.packed.Facet(f)
}

// Facets is wire.Object.Facets.
func (g Glance) Facets(list []wire.Facet, values []string) (known bool) {
	if g.of.plain != nil {
		return g.of.plain.Facets(list, values)
	}
	return g.of.packed.Facets(list, values)
}

// FacetValues is wire.Object.FacetValues.
func (g Glance) FacetValues(f wire.Facet) (values []string, known bool) {
	if g.of.plain != nil {
		return g.of.plain.FacetValues(f)
	}
	return g.of.packed.FacetValues(f)
}

// Glance is one object, and whether it is there.
func (x *Indexer) Glance(key types.NamespacedName) (Glance, bool) {
	f, ok := x.find(key)
	return Glance{f.cell}, ok
}

// Glances is all objects with that value, in the order of their keys, as of one
// moment.
func (i *Index[V]) Glances(v V) []Glance {
	m := i.moment(v)
	glances := make([]Glance, 0, m.size())
	for f := range m.each {
		glances = append(glances, Glance{f.cell})
	}
	return glances
}
