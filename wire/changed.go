package wire

import (
	"bytes"
	"slices"
)

// maxChangedDepth is how deep Changed looks. Comparing costs a pass over the
// bytes for each level that differs; nothing that people write is as deep as
// this, and what is counts as changed.
const maxChangedDepth = 100

// Changed reports whether two states of an object differ, without decoding
// them. Order of members, white space and escapes make no difference; the order
// of a list does. A number counts by how it is spelled. managedFields and
// resourceVersion never count, nor do the fields in except, nor a map of which
// only such fields are left. Objects in different formats count as changed.
//
// In doubt it says true: whoever acts on a change that was none does a little
// too much.
//
// Protobuf is compared field by field, in the order in which they come: one
// server spells one state in one way, and another order, or a number spelled
// longer than need be, counts as a change. An exception counts there if Cut
// could cut it, else nothing is excepted.
//
// Where both have the same members in the same order, excepted ones apart, as
// states of one object that come from one server mostly do, it allocates
// nothing. Else it takes both apart.
func Changed(a, b *Object, except ...Path) bool {
	switch {
	case a == b:
		return false
	case a.format != b.format:
		return true
	case a.format == Protobuf:
		return messagesDiffer(a, b, except)
	}
	x, y := a.Bytes(), b.Bytes()
	if bytes.Equal(x, y) {
		return false
	}
	if found := alike(x, y, except); found != unsure {
		return found == different
	}
	return canonicallyDiffer(x, y, except)
}

// canonicallyDiffer takes both objects apart and puts their members in order.
func canonicallyDiffer(a, b []byte, except []Path) bool {
	never := neverCounting()
	all := never[:]
	for _, p := range except {
		// Cloned, or every caller's would be on the heap for the few that come here.
		all = append(all, slices.Clone(p))
	}
	return differ(a, b, all, 0)
}

// neverCounting is what changes with every write and says nothing about what
// was written.
func neverCounting() [2]Path {
	return [...]Path{{"metadata", "managedFields"}, {"metadata", "resourceVersion"}}
}

// differ compares two values. Equal bytes are the usual case, and the cheap
// one: only the way down to what is different is ever taken apart.
func differ(a, b []byte, except []Path, depth int) bool {
	switch {
	case bytes.Equal(a, b):
		return false
	case depth > maxChangedDepth || a[0] != b[0]:
		return true
	case a[0] == '{':
		return membersDiffer(membersOf(a), membersOf(b), except, depth+1)
	case a[0] == '[':
		return elementsDiffer(elementsOf(a), elementsOf(b), except, depth+1)
	case a[0] == '"':
		return !bytes.Equal(unquoted(a), unquoted(b))
	default:
		return true
	}
}

func elementsDiffer(a, b [][]byte, except []Path, depth int) bool {
	if len(a) != len(b) {
		return true
	}
	for i := range a {
		if differ(a[i], b[i], except, depth) {
			return true
		}
	}
	return false
}

// membersDiffer walks over two sorted objects side by side.
func membersDiffer(a, b []part, except []Path, depth int) bool {
	for len(a) > 0 || len(b) > 0 {
		side := sideOf(a, b)
		var one, other part
		if side <= 0 {
			one, a = a[0], a[1:]
		}
		if side >= 0 {
			other, b = b[0], b[1:]
		}
		if memberDiffers(one, other, except, depth) {
			return true
		}
	}
	return false
}

// sideOf says which of two sorted lists has the next name: a (-1), b (+1) or
// both (0).
func sideOf(a, b []part) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	default:
		return bytes.Compare(a[0].name, b[0].name)
	}
}

// memberDiffers compares one member; a zero part is a member that is not there.
func memberDiffers(a, b part, except []Path, depth int) bool {
	name := a.name
	if a.value == nil {
		name = b.name
	}
	rest, ends := below(except, name)
	switch {
	case ends:
		return false
	case a.value == nil:
		return !blank(b.value, rest, depth)
	case b.value == nil:
		return !blank(a.value, rest, depth)
	default:
		return differ(a.value, b.value, rest, depth)
	}
}

// blank reports whether nothing but excepted fields is in a value.
func blank(value []byte, except []Path, depth int) bool {
	if len(except) == 0 || value[0] != '{' || depth > maxChangedDepth {
		return false
	}
	for _, m := range membersOf(value) {
		rest, ends := below(except, m.name)
		if !ends && !blank(m.value, rest, depth+1) {
			return false
		}
	}
	return true
}

// part is one member of an object.
type part struct{ name, value []byte }

// membersOf takes an object apart, sorted by name; of a name that comes twice
// the last one counts.
func membersOf(object []byte) []part {
	l := lexer{data: object}
	var parts []part
	for more := l.enter('{'); more; more = l.next('{') {
		key := l.key()
		name := l.bytes(key)
		if key.coded {
			name = bytes.Clone(name)
		}
		parts = append(parts, part{name, l.raw()})
	}
	slices.SortStableFunc(parts, func(x, y part) int { return bytes.Compare(x.name, y.name) })
	return lastOfEach(parts)
}

func lastOfEach(parts []part) []part {
	kept := parts[:0]
	for i, p := range parts {
		if i+1 < len(parts) && bytes.Equal(p.name, parts[i+1].name) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

func elementsOf(list []byte) [][]byte {
	l := lexer{data: list}
	var values [][]byte
	for more := l.enter('['); more; more = l.next('[') {
		values = append(values, l.raw())
	}
	return values
}

// raw takes one value and returns its bytes.
func (l *lexer) raw() []byte {
	l.peek()
	from := l.pos
	l.skip()
	return l.data[from:l.pos]
}

// unquoted is the text of a value that is a string.
func unquoted(value []byte) []byte {
	l := lexer{data: value}
	return l.bytes(l.string())
}
