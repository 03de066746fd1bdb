package wire

import (
	"strings"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"
)

// A loan is what a reader hands out: one Object, again and again, whose bytes
// are still where they were read. Most of what a list brings is known already
// and dropped, and what is kept loses some fields first, so a copy made here
// would be thrown away. Whoever keeps an object copies it once, with Own or
// with Cut.
//
// Key, UID and resourceVersion are no part of the loan: these strings anybody
// may keep, as everybody does.
type loan struct {
	object  Object
	scanner *Scanner // whose strings an owned object shares; nil: nobody's

	// head goes before the object's raw when it is kept: the members that an
	// item of a list lacks, or the envelope of protobuf. Empty: raw is all.
	head []byte
	// apiVersion and kind are what the envelope says, in protobuf.
	apiVersion, kind []byte
	// managed is where in raw the value of managedFields is. It is often the
	// longest of metadata, and the first to be cut: nobody need look for its
	// end a second time. Empty where that is not known.
	managed gap

	facets string // what o.facets.text will be; "" if that is not known
	noted  []byte // where it is

	// cutter and messages are what Cut works with.
	cutter   cutter
	messages messageCutter

	text []byte // decoded strings: those that do not stand in raw as they are
}

// lend makes the loan's Object of what m has noted; its bytes are raw, a part
// of the buffer.
func (b *loan) lend(l *lexer, m *meta, f Format, raw []byte) *Object {
	o := &b.object
	labels, owners := spare(o.labels), spare(o.owners)
	b.text = spare(b.text)
	b.noted = spare(b.noted)
	if f == JSON || m.tree.knowsProtobuf() {
		b.noted = m.tree.encode(b.noted, l, m)
	}
	b.facets = borrowed(b.noted)
	*o = Object{loan: b, raw: raw, format: f, generation: m.generation, deleting: m.deleting}
	o.facts(l, m)
	o.key.Namespace = b.scanner.share(borrowed(l.bytes(m.namespace)))
	o.labels = b.labels(labels, l, m.labels)
	for _, span := range m.owners {
		owners = append(owners, Owner{
			APIVersion: b.string(l, span.apiVersion),
			Kind:       b.string(l, span.kind),
			Name:       b.string(l, span.name),
			UID:        types.UID(b.string(l, span.uid)),
			Controller: span.controller,
		})
	}
	o.owners = owners
	return o
}

// muchSpare is how many elements of room are kept for the next object. What one
// hostile object has needed is given back.
const muchSpare = 1024

func spare[T any](s []T) []T {
	if cap(s) > muchSpare {
		return nil
	}
	return s[:0]
}

func (b *loan) tree() *facetTree { return b.scanner.meta().tree }

// facts fills in what is kept of every object: three strings, in one piece.
func (o *Object) facts(l *lexer, m *meta) {
	var room [384]byte
	b := append(room[:0], l.bytes(m.name)...)
	name := len(b)
	b = append(b, l.bytes(m.uid)...)
	uid := len(b)
	b = append(b, l.bytes(m.version)...)
	all := string(b)
	o.key.Name, o.uid, o.version = all[:name], types.UID(all[name:uid]), all[uid:]
}

// string is the text of a string for as long as the loan lasts.
func (b *loan) string(l *lexer, s span) string {
	if !s.coded {
		return borrowed(l.data[s.from:s.to])
	}
	from := len(b.text)
	b.text = appendUnquoted(b.text, l.data[s.from:s.to])
	return borrowed(b.text[from:])
}

// borrowed is a string in the place of some bytes, which must stay as they are
// while anybody has it.
func borrowed(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // That is what a loan is; the race detector's build looks for who breaks it.
}

// fewLabels is up to where looking through the labels is cheaper than a map of
// them.
const fewLabels = 32

// labels appends the last of several values of each key. Whatever the number of
// labels, it takes time in proportion.
func (b *loan) labels(to []label, l *lexer, spans []labelSpan) []label {
	var at map[string]int
	if len(spans) > fewLabels {
		at = make(map[string]int, len(spans))
	}
	for _, span := range spans {
		key := b.string(l, span.key)
		i := find(to, key, at)
		if i == len(to) {
			to = append(to, label{key: key})
		}
		to[i].value = b.string(l, span.value)
	}
	return to
}

// find is where the label of that key is, or the end. at is an index of all
// keys found so far, or nil.
func find(labels []label, key string, at map[string]int) int {
	if at == nil {
		for i := range labels {
			if labels[i].key == key {
				return i
			}
		}
		return len(labels)
	}
	if i, ok := at[key]; ok {
		return i
	}
	at[key] = len(labels)
	return len(labels)
}

// recall ends the loan. With the race detector on, it sees to it that whoever
// has kept the object finds out.
func (b *loan) recall() {
	if !poison || b.object.loan == nil {
		return
	}
	o := &b.object
	for _, used := range [][]byte{o.raw, b.text, b.noted} {
		for i := range used {
			used[i] = '#'
		}
	}
	clear(o.labels)
	clear(o.owners)
	*o = Object{labels: o.labels[:0], owners: o.owners[:0], key: types.NamespacedName{Name: "an object that was not its holder's any more"}}
}

// Own is this object with bytes of its own, to be kept: a copy if it was lent
// (see Event.Object), else the object itself.
func (o *Object) Own() *Object {
	if o.loan == nil {
		return o
	}
	n := o.keep()
	n.raw = joined(o.loan.head, o.raw)
	return n
}

// head is what raw lacks at its beginning.
func (o *Object) head() []byte {
	if o.loan == nil {
		return nil
	}
	return o.loan.head
}

// length is how many bytes Bytes has.
func (o *Object) length() int { return len(o.head()) + len(o.raw) }

// keep is a copy of this object with facts of its own; its bytes have to follow.
// The owners are copied in any case: they may be in one piece with o, which then
// would be kept too, and its bytes (see room).
func (o *Object) keep() *Object {
	n, owners := room(len(o.owners))
	*n = *o
	n.loan, n.raw, n.owners = nil, nil, owners
	copy(n.owners, o.owners)
	if o.loan == nil {
		return n
	}
	n.labels = append([]label(nil), o.labels...)
	o.loan.scanner.shareFacts(n)
	n.facets = o.loan.scanner.shareFacets(o.loan.facets)
	return n
}

// room is an Object, and room for its owners. Most have one or none, which
// takes no allocation of its own.
func room(owners int) (*Object, []Owner) {
	switch owners {
	case 0:
		return new(Object), nil
	case 1:
		with := new(struct {
			Object
			owner [1]Owner
		})
		return &with.Object, with.owner[:]
	default:
		return new(Object), make([]Owner, owners)
	}
}

// joined is a copy of two pieces, one after the other. A Builder does not wipe
// its room before it is written to, as make would.
func joined(head, rest []byte) []byte {
	var b strings.Builder
	b.Grow(len(head) + len(rest))
	b.Write(head)
	b.Write(rest)
	return built(&b)
}

// built is what a Builder has built, without another copy.
func built(b *strings.Builder) []byte {
	return unsafe.Slice(unsafe.StringData(b.String()), b.Len()) //nolint:gosec // The Builder is dropped, and nobody changes an object's bytes.
}
