package wire

import "errors"

// meta is what one pass over an object notes: where things stand, not yet what
// they are. It is used again for the next object, so a scan allocates only what
// the Object keeps.
//
// It follows the ordinary decoder into metav1.PartialObjectMetadata in every
// corner, wrong input included: a key that comes twice counts as it would there
// (the last value wins; maps and owner references are laid over each other;
// null leaves a string alone and empties a map), and a field of the wrong type
// is an error even where we have no use for it.
type meta struct {
	name, namespace, uid, version span
	kind, apiVersion              span

	generation int64
	deleting   bool
	labels     []labelSpan
	owners     []ownerSpan

	// from and to bound the value of "metadata"; both are 0 when there is none
	// or more than one.
	from, to int
	blocks   int // how many there are
	managed  gap // the value of managedFields that came last

	tree    *facetTree // what facets want to know; nil: nothing
	noted   []noted    // and have found
	tooMany bool       // there was more than can be kept
}

type labelSpan struct{ key, value span }

type ownerSpan struct {
	apiVersion, kind, name, uid span
	controller                  bool
}

func (m *meta) reset() {
	m.noOwners()
	*m = meta{labels: spare(m.labels), owners: m.owners, tree: m.tree, noted: m.noted[:0]}
}

const (
	// maxOwners is how many owners an object may have. Of owners that have a
	// name and a UID, as a server demands, no more than this fit into what etcd
	// takes; without a bound, three bytes of a hostile object, {}, would become
	// seventy of ours.
	maxOwners = 1 << 15
	// manyOwners is more than usual: room for as many is not kept.
	manyOwners = 16
)

// ErrManyOwners is the fault of an object with more than 32768 owners. The
// ordinary decoder would take it.
var ErrManyOwners = errors.New("more owners than an object can have")

// noOwners also wipes what lies behind the end of the list: an element that is
// decoded a second time keeps the fields that the second text does not mention.
func (m *meta) noOwners() {
	if cap(m.owners) > manyOwners {
		m.owners = nil // or every later object would pay for it
		return
	}
	clear(m.owners[:cap(m.owners)])
	m.owners = m.owners[:0]
}

// object takes one API object and fills m. A nameless one is fine here:
// bookmarks have no name.
func (l *lexer) object(m *meta) {
	m.reset()
	if !l.opens('{', "an object") {
		return
	}
	for more := l.enter('{'); more; more = l.next('{') {
		key := l.bytes(l.key())
		to, from := m.tree.member(key), l.pos
		switch string(key) {
		case "metadata":
			l.metadata(m)
		case "kind":
			l.text(&m.kind)
		case "apiVersion":
			l.text(&m.apiVersion)
		default:
			l.facetMember(m, to, 0)
			continue
		}
		l.facetAgain(m, to, from)
	}
}

func (l *lexer) metadata(m *meta) {
	if l.null() || !l.opens('{', "an object for metadata") {
		return
	}
	m.from = l.pos
	for more := l.enter('{'); more; more = l.next('{') {
		l.metaField(m, l.key())
	}
	m.to = l.pos
	if m.blocks++; m.blocks > 1 {
		m.from, m.to = 0, 0
	}
}

// metaField takes the value of one field of metadata: all of ObjectMeta, in its
// order.
func (l *lexer) metaField(m *meta, key span) {
	var unread span
	var number int64
	var flag bool
	switch string(l.bytes(key)) {
	case "name":
		l.text(&m.name)
	case "namespace":
		l.text(&m.namespace)
	case "generateName", "selfLink":
		l.text(&unread)
	case "uid":
		l.text(&m.uid)
	case "resourceVersion":
		l.text(&m.version)
	case "generation":
		l.integer(&m.generation)
	case "creationTimestamp":
		l.timestamp(&flag)
	case "deletionTimestamp":
		l.timestamp(&m.deleting)
	case "deletionGracePeriodSeconds":
		l.integer(&number)
	case "labels":
		l.labels(m)
	case "annotations":
		l.annotations()
	case "ownerReferences":
		l.owners(m)
	case "finalizers":
		l.finalizers()
	case "managedFields":
		l.peek()
		m.managed.from = l.pos
		l.managedFields()
		m.managed.to = l.pos
	default:
		l.skip()
	}
}

func (l *lexer) labels(m *meta) {
	if l.null() {
		m.labels = m.labels[:0]
		return
	}
	if !l.opens('{', "an object for labels") {
		return
	}
	for more := l.enter('{'); more; more = l.next('{') {
		label := labelSpan{key: l.key()}
		l.text(&label.value)
		m.labels = append(m.labels, label)
	}
}

func (l *lexer) annotations() {
	if l.null() || !l.opens('{', "an object for annotations") {
		return
	}
	for more := l.enter('{'); more; more = l.next('{') {
		var unread span
		l.key()
		l.text(&unread)
	}
}

func (l *lexer) finalizers() {
	if l.null() || !l.opens('[', "a list for finalizers") {
		return
	}
	for more := l.enter('['); more; more = l.next('[') {
		var unread span
		l.text(&unread)
	}
}

func (l *lexer) owners(m *meta) {
	if l.null() {
		m.noOwners()
		return
	}
	if !l.opens('[', "a list for ownerReferences") {
		return
	}
	n := 0
	for more := l.enter('['); more; more = l.next('[') {
		if n == maxOwners {
			l.refuse(ErrManyOwners)
			l.skip()
			continue
		}
		if n++; n > len(m.owners) {
			m.growOwners()
		}
		l.owner(&m.owners[n-1])
	}
	if m.owners = m.owners[:n]; n == 0 {
		m.noOwners()
	}
}

func (m *meta) growOwners() {
	if n := len(m.owners); n < cap(m.owners) {
		m.owners = m.owners[:n+1]
		return
	}
	m.owners = append(m.owners, ownerSpan{})
}

func (l *lexer) owner(o *ownerSpan) {
	if l.null() || !l.opens('{', "an object for an owner") {
		return
	}
	for more := l.enter('{'); more; more = l.next('{') {
		var flag bool
		switch string(l.bytes(l.key())) {
		case "apiVersion":
			l.text(&o.apiVersion)
		case "kind":
			l.text(&o.kind)
		case "name":
			l.text(&o.name)
		case "uid":
			l.text(&o.uid)
		case "controller":
			l.boolean(&o.controller)
		case "blockOwnerDeletion":
			l.boolean(&flag)
		default:
			l.skip()
		}
	}
}

func (l *lexer) managedFields() {
	if l.null() || !l.opens('[', "a list for managedFields") {
		return
	}
	for more := l.enter('['); more; more = l.next('[') {
		l.manager()
	}
}

func (l *lexer) manager() {
	if l.null() || !l.opens('{', "an object for a manager") {
		return
	}
	for more := l.enter('{'); more; more = l.next('{') {
		var unread span
		var flag bool
		switch string(l.bytes(l.key())) {
		case "manager", "operation", "apiVersion", "fieldsType", "subresource":
			l.text(&unread)
		case "time":
			l.timestamp(&flag)
		default:
			l.skip()
		}
	}
}
