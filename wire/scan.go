package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Scanner turns wire bytes into Objects. There is one for each resource: it
// keeps the strings that the objects of a resource have in common, so that they
// are held once, over all lists and watches of that resource.
//
// The zero value works, and has no facets. It may be used by several goroutines.
type Scanner struct {
	tree *facetTree // nil: no facets
	kind string     // of all objects; empty: any

	mu      sync.Mutex // guards the rest
	strings interner
	facets  map[string]*facets // by their text
}

// NewScanner makes a Scanner that knows these facets of each object.
func NewScanner(facets ...Facet) *Scanner { return &Scanner{tree: newFacetTree(facets)} }

// Only has the Scanner hold every object to one kind, as "Pod": one that says of
// itself that it is of another is a *ScanError. What stands in the place of an
// object may well have its name and pass for one, with nothing in it. It is to be
// called before the Scanner is used.
func (s *Scanner) Only(kind string) { s.kind = kind }

// strange tells whether an object is of another kind than it has to be. One that
// says nothing is what its list is.
func (s *Scanner) strange(kind []byte) bool {
	return s != nil && s.kind != "" && len(kind) > 0 && string(kind) != s.kind
}

// meta is what a pass over the objects of s has to note.
func (s *Scanner) meta() meta {
	if s == nil {
		return meta{}
	}
	return meta{tree: s.tree}
}

// ScanError is one object that could not be read. Key and ResourceVersion are
// what could be made out before that, perhaps nothing. It concerns this object
// alone: the stream that it came from can be read on.
type ScanError struct {
	Key             types.NamespacedName
	ResourceVersion string
	Err             error
}

func (e *ScanError) Error() string {
	if e.Key.Name == "" {
		return "scan object: " + e.Err.Error()
	}
	return fmt.Sprintf("scan object %s at resourceVersion %q: %v", e.Key, e.ResourceVersion, e.Err)
}

func (e *ScanError) Unwrap() error { return e.Err }

var (
	errTrailing = errors.New("bytes after the object")
	errNameless = errors.New("no name in its metadata")
	errKind     = errors.New("it is of another kind")
)

// Scan reads one object in one pass over its bytes, and copies what it keeps:
// raw is the caller's again. It fails with a *ScanError exactly where the
// ordinary decoder into metav1.PartialObjectMetadata would fail, save that null
// is no object here, and ErrMapEntry and ErrManyOwners. An object without a name is fine: it is
// for the caller to say whether it may be.
//
// Protobuf is an object in its envelope, with the magic number.
//
// It is meant for an object that comes alone. Those of lists and watches come
// through a Scanner, which lets them share what they have in common; so should
// one that is read to stand beside them.
func Scan(f Format, raw []byte) (*Object, error) {
	var alone *Scanner
	return alone.Scan(f, raw)
}

// Scan is the function Scan for an object that shares what it has in common
// with the others of its Scanner.
func (s *Scanner) Scan(f Format, raw []byte) (*Object, error) {
	b := loan{scanner: s}
	lent, err := b.scan(f, raw)
	if err != nil {
		return nil, err
	}
	return lent.Own(), nil
}

func (b *loan) scan(f Format, raw []byte) (*Object, error) {
	l := lexer{data: raw}
	m := b.scanner.meta()
	switch f {
	case JSON:
	case Protobuf:
		return b.enveloped(&l, &m)
	default:
		return nil, ErrFormat
	}
	l.peek()
	from := l.pos
	l.object(&m)
	to := l.pos
	if l.err == nil && !onlySpace(raw[to:]) {
		l.err = errTrailing
	}
	return b.json(&l, &m, from, to, typeMeta{})
}

func onlySpace(b []byte) bool { return len(bytes.TrimLeft(b, " \t\r\n")) == 0 }

// scanError is what went wrong with the object that m was read from, as far as
// it was read.
func (l *lexer) scanError(m *meta) *ScanError {
	e := &ScanError{Err: l.bad}
	if l.err != nil {
		e.Err = whole(l.err)
	}
	e.Key.Namespace = string(l.bytes(m.namespace))
	e.Key.Name = string(l.bytes(m.name))
	e.ResourceVersion = string(l.bytes(m.version))
	return e
}

// whole turns the end of the input, within an object, into the error that says
// so.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// json lends the object whose facts m has noted and whose bytes are
// l.data[from:to]; what it lacks of item goes before them.
func (b *loan) json(l *lexer, m *meta, from, to int, item typeMeta) (*Object, error) {
	if l.err == nil && l.bad == nil && b.scanner.strange(l.bytes(m.kind)) {
		l.bad = fmt.Errorf("%w: %.100q", errKind, l.bytes(m.kind))
	}
	if l.err != nil || l.bad != nil {
		return nil, l.scanError(m)
	}
	raw := l.data[from:to:to]
	b.head = item.head(b.head[:0], m, raw)
	if len(b.head) > 0 {
		raw = raw[1:] // its bracket is in the head
	}
	from = to - len(raw)
	b.managed = gap{m.managed.from - from, m.managed.to - from}
	o := b.lend(l, m, JSON, raw)
	if shift := len(b.head) - from; m.to > 0 && m.to+shift <= math.MaxUint32 {
		o.metaFrom, o.metaTo = uint32(m.from+shift), uint32(m.to+shift)
	}
	return o, nil
}
