package wire

import (
	"errors"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// Packed is an Object in a tenth of its size: what a store has to know of it at
// any time, and the rest compressed. A Packer makes it, Object makes an Object
// of it again.
//
// It never changes, so any number of goroutines may share one. The strings that
// it gives out point into it, and keep all of it: clone one that is to be kept
// for longer than the object.
type Packed struct {
	// text is namespace, name, UID, resourceVersion and the blob, of which the
	// first four have the lengths below: one piece of memory, not five.
	text       string
	dictionary *Dictionary
	facets     *facets // see Object
	saved      uint32  // see Object
	plain      uint32  // see PlainSize

	name                    uint16
	namespace, uid, version uint8
	format                  Format
}

func (p *Packed) afterName() int    { return int(p.namespace) + int(p.name) }
func (p *Packed) afterUID() int     { return p.afterName() + int(p.uid) }
func (p *Packed) afterVersion() int { return p.afterUID() + int(p.version) }

// Key is Object.Key.
func (p *Packed) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: p.text[:p.namespace], Name: p.text[p.namespace:p.afterName()]}
}

// UID is Object.UID.
func (p *Packed) UID() types.UID { return types.UID(p.text[p.afterName():p.afterUID()]) }

// ResourceVersion is Object.ResourceVersion.
func (p *Packed) ResourceVersion() string { return p.text[p.afterUID():p.afterVersion()] }

// Facet is Object.Facet.
func (p *Packed) Facet(f Facet) (value string, known bool) {
	return firstValue(p.facets.values(f, p.format))
}

// Facets is Object.Facets.
func (p *Packed) Facets(list []Facet, values []string) (known bool) {
	return p.facets.all(list, values, p.format)
}

// FacetValues is Object.FacetValues.
func (p *Packed) FacetValues(f Facet) (values []string, known bool) {
	return allValues(p.facets.values(f, p.format))
}

// Dictionary is what the object was packed with, and needs to be unpacked.
func (p *Packed) Dictionary() *Dictionary { return p.dictionary }

// Size is the memory that the packed object holds on to, in bytes. Facets that it
// shares with other objects are counted as if they were its own; its dictionary is
// not counted.
func (p *Packed) Size() int { return int(unsafe.Sizeof(*p)) + len(p.text) + p.facets.size() }

// PlainSize is Object.Size of the object that was packed.
func (p *Packed) PlainSize() int { return int(p.plain) }

// String is what Object.String is.
func (p *Packed) String() string { return p.Key().String() + "@" + p.ResourceVersion() }

var errOtherObject = errors.New("another object came out")

// Object unpacks: the result is the object that was packed, in every fact and
// every byte. It is made for the caller, who may keep it.
//
// A blob has no checksum, as little as the bytes of a plain object have one: it
// never left our memory, and came back right when it was made. If that memory
// is damaged nevertheless, and it shows, the error is a *DecodeError.
func (p *Packed) Object() (*Object, error) {
	o, err := p.dictionary.unpack(p.format, p.blob())
	if err == nil && (o.key != p.Key() || o.uid != p.UID() || o.version != p.ResourceVersion()) {
		err = errOtherObject
	}
	if err != nil {
		return nil, &DecodeError{Key: p.Key(), Type: "*wire.Object", Err: err}
	}
	p.restore(o)
	return o, nil
}

func (p *Packed) blob() string { return p.text[p.afterVersion():] }

// restore gives an object back what is not in its bytes.
func (p *Packed) restore(o *Object) { o.saved, o.facets = p.saved, p.facets }
