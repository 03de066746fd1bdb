package wire

import "slices"

// facetTree is all facets of a Scanner, as the scan meets them: what they have
// in common of their ways it goes once.
type facetTree struct {
	root    facetNode
	facets  []string // their paths, in the order in which values are kept
	numbers []bool   // which of them are numbers of items
	// inProtobuf is which of them are known of objects in protobuf; some says
	// whether any is.
	inProtobuf []bool
	some       bool
}

// facetNode is a place in an object that facets lead to, or through.
type facetNode struct {
	ends   []int // the facets whose value this is
	counts []int // those whose value is the number of items
	// members, items and every lead on: into an object, into certain items of a
	// list, into all of them.
	members []facetEdge
	items   []facetEdge
	every   *facetNode
	below   []int // the facets that end here or further on
	spelled spelling
}

type facetEdge struct {
	facetStep

	to *facetNode
}

// newFacetTree makes one, or nil of no facets.
func newFacetTree(list []Facet) *facetTree {
	if len(list) == 0 {
		return nil
	}
	t := &facetTree{}
	// Of two for the same path, the one that knows more.
	for _, f := range slices.SortedStableFunc(slices.Values(list), moreFirst) {
		if f.def != nil && !slices.Contains(t.facets, f.def.text) {
			t.add(f.def)
		}
	}
	return t
}

func moreFirst(a, b Facet) int {
	switch more, other := a.def != nil && a.def.inProtobuf, b.def != nil && b.def.inProtobuf; {
	case more == other:
		return 0
	case more:
		return -1
	default:
		return 1
	}
}

func (t *facetTree) add(f *facet) {
	i := len(t.facets)
	n := &t.root
	for _, s := range f.path {
		if s.kind == toNumber {
			n.counts = append(n.counts, i)
			break
		}
		n = n.next(s)
		n.below = append(n.below, i)
	}
	last := f.path[len(f.path)-1].kind
	if last != toNumber {
		n.ends = append(n.ends, i)
		n.spelled = max(n.spelled, f.spelled)
	}
	t.facets = append(t.facets, f.text)
	t.numbers = append(t.numbers, last == toNumber)
	t.inProtobuf = append(t.inProtobuf, f.inProtobuf)
	t.some = t.some || f.inProtobuf
}

// next is where a step leads to.
func (n *facetNode) next(s facetStep) *facetNode {
	edges := &n.members
	switch s.kind {
	case toEvery:
		if n.every == nil {
			n.every = &facetNode{}
		}
		return n.every
	case toItem:
		edges = &n.items
	default:
	}
	for i := range *edges {
		if e := &(*edges)[i]; e.name == s.name && e.value == s.value {
			e.number = max(e.number, s.number)
			return e.to
		}
	}
	to := &facetNode{}
	*edges = append(*edges, facetEdge{s, to})
	return to
}

// member is where a member of the object leads to, or nil.
func (t *facetTree) member(name []byte) *facetNode {
	if t == nil {
		return nil
	}
	return t.root.member(name)
}

// member is where the member of that name leads to, or nil.
func (n *facetNode) member(name []byte) *facetNode {
	for i := range n.members {
		if n.members[i].name == string(name) {
			return n.members[i].to
		}
	}
	return nil
}

// The walk. It is a part of the one pass that a scan makes.

// facet takes one value and notes what facets want to know of it.
func (l *lexer) facet(m *meta, n *facetNode) {
	switch c := l.peek(); {
	case c == '{' && len(n.members) > 0:
		l.facetMembers(m, n)
	case c == '[' && (n.every != nil || len(n.items)+len(n.counts) > 0):
		l.facetItems(m, n)
	case len(n.ends) == 0 || c == '{' || c == '[':
		l.skip()
	case c == '"':
		m.note(n.ends, noted{at: l.string()})
	default:
		from := l.pos
		if l.scalar(); c != 'n' {
			m.note(n.ends, noted{at: span{from: from, to: l.pos}})
		}
	}
}

func (l *lexer) facetMembers(m *meta, n *facetNode) {
	before := len(m.noted)
	for more := l.enter('{'); more; more = l.next('{') {
		l.facetMember(m, n.member(l.bytes(l.key())), before)
	}
}

// facetMember takes the value of a member, which replaces one of the same name
// that this object had before.
func (l *lexer) facetMember(m *meta, n *facetNode, before int) {
	if n == nil {
		l.skip()
		return
	}
	m.forget(n, before)
	l.facet(m, n)
}

// facetAgain is facetMember for a value that has just been taken: of the few
// members that a scan looks into by itself.
func (l *lexer) facetAgain(m *meta, n *facetNode, from int) {
	if n == nil || l.err != nil {
		return
	}
	to := l.pos
	l.pos = from
	l.facetMember(m, n, 0)
	l.pos = to
}

func (l *lexer) facetItems(m *meta, n *facetNode) {
	items, met := 0, make([]bool, len(n.items))
	for more := l.enter('['); more; more = l.next('[') {
		items++
		switch {
		case len(n.items) > 0:
			l.facetItem(m, n, met)
		case n.every != nil:
			l.facet(m, n.every)
		default:
			l.skip()
		}
	}
	m.note(n.counts, noted{spelled: asNumber, number: int64(items)})
}

// facetItem takes an item that has to be looked at before it is known whether it
// is wanted: what tells that may stand at its end.
func (l *lexer) facetItem(m *meta, n *facetNode, met []bool) {
	l.peek()
	from := l.pos
	l.skip()
	to := l.pos
	for i, e := range n.items {
		if l.err == nil && !met[i] && has(l.data[from:to], e.name, e.value) {
			met[i] = true
			l.pos = from
			l.facet(m, e.to)
		}
	}
	if n.every != nil && l.err == nil {
		l.pos = from
		l.facet(m, n.every)
	}
	l.pos = to
}

// has reports whether a value is an object with that member.
func has(object []byte, name, value string) bool {
	l := lexer{data: object}
	found := false
	if l.peek() != '{' {
		return false
	}
	for more := l.enter('{'); more; more = l.next('{') {
		here := string(l.bytes(l.key())) == name
		inner := l.raw()
		switch {
		case !here:
		case inner[0] == '"':
			found = string(unquoted(inner)) == value
		default:
			found = string(inner) == value && inner[0] != 'n' && !opens(inner[0])
		}
	}
	return found
}

// muchNoted is how many values of facets are noted of one object: as many as
// may be kept have a byte for their length.
const muchNoted = maxFacets

func (m *meta) note(facets []int, value noted) {
	for _, f := range facets {
		if len(m.noted) == muchNoted {
			m.tooMany = true
			return
		}
		value.facet = f
		m.noted = append(m.noted, value)
	}
}

// forget drops what was noted since then of the facets that lead to a node.
func (m *meta) forget(n *facetNode, since int) {
	kept := m.noted[:since]
	for _, note := range m.noted[since:] {
		if !slices.Contains(n.below, note.facet) {
			kept = append(kept, note)
		}
	}
	m.noted = kept
}
