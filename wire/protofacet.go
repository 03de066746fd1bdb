package wire

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// NewFacetOf is NewFacet for objects in protobuf as well as in JSON: T is their
// Go type, such as corev1.Pod, whose tags say which numbers the fields on the
// way have. What a field is worth is the same in both formats.
//
// The value must be a string, an int32, an int64 or a bool, and what is on the
// way to it no map. It panics where that is not so.
func NewFacetOf[T any](path string) Facet {
	f := NewFacet(path)
	if err := f.def.number(reflect.TypeFor[T]()); err != nil {
		panic(fmt.Sprintf("wire: facet %q of %s: %v", path, reflect.TypeFor[T](), err))
	}
	return f
}

// spelling is how the value of a facet is spelled in protobuf.
type spelling uint8

const (
	asText   spelling = 0
	asNumber spelling = 1
	asInt32  spelling = 2
	asTruth  spelling = 3
	// unlessZero goes with any: JSON leaves the field out when it is zero, and
	// protobuf does not.
	unlessZero spelling = 4
)

func (s spelling) format(n int64) string {
	if s == asTruth {
		return strconv.FormatBool(n != 0)
	}
	return strconv.FormatInt(n, 10)
}

// number finds the numbers of the fields on the way, and how the value is
// spelled.
func (f *facet) number(t reflect.Type) error {
	for i := range f.path {
		s := &f.path[i]
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		inList := s.kind != toMember
		if inList != (t.Kind() == reflect.Slice) || t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
			return fmt.Errorf("%s is no place for the step %d", t, i+1)
		}
		if inList {
			t = t.Elem()
			f.spelled = 0
		}
		if s.kind == toEvery || s.kind == toNumber {
			continue
		}
		field, number, err := fieldOf(t, s.name)
		if err != nil {
			return err
		}
		s.number = number
		if s.kind == toMember {
			t = field.Type
			f.spelled = 0
			if _, options, _ := strings.Cut(field.Tag.Get("json"), ","); t.Kind() != reflect.Pointer && strings.Contains(options, "omitempty") {
				f.spelled = unlessZero
			}
		} else if field.Type.Kind() != reflect.String {
			return fmt.Errorf("%s is told by a %s, not by a string", t, field.Type)
		}
	}
	f.inProtobuf = true
	if f.path[len(f.path)-1].kind == toNumber {
		return nil
	}
	return f.spell(t)
}

func (f *facet) spell(t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		f.spelled |= asText
	case reflect.Int32:
		f.spelled |= asInt32
	case reflect.Int64:
		f.spelled |= asNumber
	case reflect.Bool:
		f.spelled |= asTruth
	default:
		return fmt.Errorf("a %s is no value of a facet", t)
	}
	return nil
}

// fieldOf is the field that has that name in JSON, and its number in protobuf.
func fieldOf(t reflect.Type, name string) (reflect.StructField, int32, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		for field := range fields(t) {
			inJSON, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if inJSON != name {
				continue
			}
			tag := strings.Split(field.Tag.Get("protobuf"), ",")
			if len(tag) < 2 {
				break
			}
			number, err := strconv.ParseInt(tag[1], 10, 32)
			if err != nil {
				return field, 0, fmt.Errorf("the number of %s: %w", name, err)
			}
			return field, int32(number), nil
		}
	}
	return reflect.StructField{}, 0, fmt.Errorf("%s has no field %s in protobuf", t, name)
}

func fields(t reflect.Type) func(func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// knowsProtobuf reports whether there is anything to look for in protobuf.
func (t *facetTree) knowsProtobuf() bool { return t != nil && t.some }

// protobufFacets notes what facets want to know of an object. Of what is in its
// fields the scan knows no more than their length, so something may be wrong
// there; then nothing is known of the object's facets, and whoever decodes it
// finds out what it is.
func (m *meta) protobufFacets(body message) {
	var lists []listed
	m.messageFacets(&body, &m.tree.root, 0, &lists)
	m.count(lists)
	m.tooMany = m.tooMany || body.err != nil
}

// listed is a list of which some items have come: in protobuf they stand among
// the other fields.
type listed struct {
	node  *facetNode
	items int
	met   []bool // which of the items that facets look for have come
}

// count notes how many items there are in lists that have come to their end.
func (m *meta) count(lists []listed) {
	for _, l := range lists {
		m.note(l.node.counts, noted{spelled: asNumber, number: int64(l.items)})
	}
}

// messageFacets walks over a message that a facetNode stands for. A message that
// comes twice is one, and so are its lists; of a value that comes twice the last
// counts. So since, which is where in noted the values begin that it may replace,
// and lists are those of the object, or of the item of a list, around it. What a
// server does not write is zero, and left out of JSON too.
func (m *meta) messageFacets(w *message, n *facetNode, since int, lists *[]listed) {
	for number, k, ok := w.next(); ok; number, k, ok = w.next() {
		to := n.numbered(number)
		switch {
		case to == nil:
			w.skip(k)
		case to.isList():
			i := slices.IndexFunc(*lists, func(l listed) bool { return l.node == to })
			if i < 0 {
				i = len(*lists)
				*lists = append(*lists, listed{node: to, met: make([]bool, len(to.items))})
			}
			m.itemFacets(w, k, &(*lists)[i])
		default:
			m.valueFacets(w, k, to, since, lists)
		}
	}
}

// numbered is where the field of that number leads to, or nil.
func (n *facetNode) numbered(number int32) *facetNode {
	for i := range n.members {
		if n.members[i].number == number {
			return n.members[i].to
		}
	}
	return nil
}

func (n *facetNode) isList() bool { return n.every != nil || len(n.items)+len(n.counts) > 0 }

// itemFacets takes one item of a list.
func (m *meta) itemFacets(w *message, k kind, l *listed) {
	l.items++
	from := *w
	for i, e := range l.node.items {
		if l.met[i] || w.err != nil {
			continue
		}
		again := from
		inner := again.inner(k)
		if l.met[i] = inner.has(e.number, e.value); l.met[i] {
			again = from
			m.wholeFacets(&again, k, e.to)
		}
		w.err = cmp.Or(inner.err, again.err)
	}
	switch {
	case w.err != nil:
	case l.node.every == nil:
		w.skip(k)
	default:
		m.wholeFacets(w, k, l.node.every)
	}
}

// wholeFacets takes a value that no later one is a part of, as an item is.
func (m *meta) wholeFacets(w *message, k kind, n *facetNode) {
	var lists []listed
	m.valueFacets(w, k, n, len(m.noted), &lists)
	m.count(lists)
}

// has reports whether a message has that text in that field.
func (w *message) has(number int32, value string) bool {
	found := false
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		if n != number || k != block {
			w.skip(k)
			continue
		}
		at := w.bytes()
		found = string(w.data[at.from:at.to]) == value
	}
	return found && w.err == nil
}

// valueFacets takes one value.
func (m *meta) valueFacets(w *message, k kind, n *facetNode, since int, lists *[]listed) {
	if len(n.ends) == 0 {
		inner := w.inner(k)
		m.messageFacets(&inner, n, since, lists)
		w.err = inner.err
		return
	}
	value := noted{spelled: n.spelled &^ unlessZero}
	var zero bool
	if value.spelled == asText {
		value.at = w.text(k)
		zero = value.at.to == value.at.from
	} else {
		value.number = int64(w.number(k))
		if value.spelled == asInt32 {
			value.number = int64(int32(value.number))
		}
		zero = value.number == 0
	}
	m.forget(n, since)
	if !zero || n.spelled&unlessZero == 0 {
		m.note(n.ends, value)
	}
}
