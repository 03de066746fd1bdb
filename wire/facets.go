package wire

import (
	"encoding/binary"
	"slices"
	"unsafe"
)

// maxFacets is how much of an object's facets is kept, in bytes. A facet is what
// many objects have in common, or little; one who puts a text of a megabyte
// where a name should be must not find it in the memory of every reader.
const maxFacets = 1 << 10

// unkept stands for how many values a facet has of which none is kept: more than fit.
const unkept = 1<<14 - 1

// Facet is the value of a facet, of several the first, "" if there is none.
//
// It is known if the object has come through a Scanner that has this facet; in
// protobuf, one that NewFacetOf has made. It is not known of any other object,
// such as one that the function Scan has read. Nor is one known that has no room:
// the facets of an object have 1 KiB together, and are given it in the order in which
// the Scanner has them; of an object with more than a thousand values none is. Who is
// told so decodes the object.
func (o *Object) Facet(f Facet) (value string, known bool) {
	return firstValue(o.values(f))
}

// Facets is Facet of each of a list, in one pass: values[i] becomes that of list[i].
// known tells whether all of them are.
func (o *Object) Facets(list []Facet, values []string) (known bool) {
	if o.loan != nil {
		return o.loan.tree().all(o.loan.facets, list, values, o.format)
	}
	return o.facets.all(list, values, o.format)
}

// FacetValues is every value of a facet whose path has [] in it, in the order of
// the list; of another facet the one there is. See Facet.
func (o *Object) FacetValues(f Facet) (values []string, known bool) {
	return allValues(o.values(f))
}

// values is the facet's part of the object's facets.
func (o *Object) values(f Facet) (values string, known bool) {
	if o.loan != nil {
		return o.loan.tree().values(o.loan.facets, f, o.format)
	}
	return o.facets.values(f, o.format)
}

// facets is what an object has for all the facets of its Scanner. Objects that
// have the same share one.
type facets struct {
	tree *facetTree
	// text is, for each facet in the order of the tree, how many values there
	// are, and each with its length before it.
	text string
}

func (s *facets) values(f Facet, of Format) (values string, known bool) {
	if s == nil {
		return "", false
	}
	return s.tree.values(s.text, f, of)
}

func (s *facets) all(list []Facet, values []string, of Format) (known bool) {
	if s == nil {
		return false
	}
	return s.tree.all(s.text, list, values, of)
}

// facetSize is the memory that they take.
func (o *Object) facetSize() int {
	if o.loan != nil {
		return (&facets{text: o.loan.facets}).size()
	}
	return o.facets.size()
}

// size is the memory that they take; none are none.
func (s *facets) size() int {
	if s == nil || s.text == "" {
		return 0
	}
	return int(unsafe.Sizeof(*s)) + len(s.text)
}

// values finds the part of one facet.
func (t *facetTree) values(text string, f Facet, of Format) (values string, known bool) {
	if t == nil || f.def == nil || text == "" {
		return "", false
	}
	i := slices.Index(t.facets, f.def.text)
	if i < 0 || of == Protobuf && !t.inProtobuf[i] {
		return "", false
	}
	for range i {
		_, _, text = cutValues(text)
	}
	n, _ := cutNumber(text)
	return text, n != unkept
}

// all finds the first value of each of a list of facets.
func (t *facetTree) all(text string, list []Facet, values []string, of Format) (known bool) {
	if t == nil || text == "" {
		return false
	}
	found := 0
	for i, name := range t.facets {
		var first string
		var known bool
		first, known, text = cutValues(text)
		for j := range list {
			if known && list[j].def != nil && list[j].def.text == name && (of != Protobuf || t.inProtobuf[i]) {
				values[j] = first
				found++
			}
		}
	}
	return found == len(list)
}

func firstValue(values string, known bool) (string, bool) {
	n, rest := cutNumber(values)
	if n == 0 || !known {
		return "", known
	}
	value, _ := cutValue(rest)
	return value, known
}

func allValues(values string, known bool) ([]string, bool) {
	n, rest := cutNumber(values)
	if n == 0 || !known {
		return nil, known
	}
	list := make([]string, n)
	for i := range list {
		list[i], rest = cutValue(rest)
	}
	return list, known
}

// cutNumber takes a number of two bytes at most, which those in a text are.
func cutNumber(text string) (n uint64, rest string) {
	switch {
	case text == "":
		return 0, ""
	case text[0] < 0x80:
		return uint64(text[0]), text[1:]
	default:
		return uint64(text[0]&0x7f) | uint64(text[1])<<7, text[2:]
	}
}

// cutValues takes one facet, and tells its first value, and whether its values are kept.
func cutValues(text string) (first string, known bool, rest string) {
	n, rest := cutNumber(text)
	if n == unkept {
		return "", false, rest
	}
	for k := range n {
		var value string
		if value, rest = cutValue(rest); k == 0 {
			first = value
		}
	}
	return first, true, rest
}

func cutValue(text string) (value, rest string) {
	n, rest := cutNumber(text)
	return rest[:n], rest[n:]
}

// encode appends what was noted of an object's facets, or nothing if that was too much.
// A facet that has no room is left out, and others that come after it are not.
func (t *facetTree) encode(to []byte, l *lexer, m *meta) []byte {
	if t == nil || m.tooMany {
		return to
	}
	room := len(to) + maxFacets
	for i := range t.facets {
		before := len(to)
		if to = t.encodeOne(to, i, l, m); len(to) > room {
			to = binary.AppendUvarint(to[:before], unkept)
			room += len(to) - before // it says that nothing is kept
		}
	}
	return to
}

func (t *facetTree) encodeOne(to []byte, i int, l *lexer, m *meta) []byte {
	n := 0
	for _, note := range m.noted {
		if note.facet == i {
			n++
		}
	}
	if n == 0 && t.numbers[i] {
		return append(to, 1, 1, '0') // a list that is not there has no items
	}
	to = binary.AppendUvarint(to, uint64(n))
	for _, note := range m.noted {
		if note.facet == i {
			to = note.append(to, l)
		}
	}
	return to
}

// noted is one value of a facet: a text, by where it stands, or a number.
type noted struct {
	facet   int
	at      span
	spelled spelling // as it is here
	number  int64
}

func (n *noted) append(to []byte, l *lexer) []byte {
	if n.spelled != asText {
		text := n.spelled.format(n.number)
		return append(append(to, byte(len(text))), text...)
	}
	text := l.bytes(n.at)
	if len(text) > maxFacets {
		text = make([]byte, maxFacets+1) // whatever it is, it is too long
	}
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}
