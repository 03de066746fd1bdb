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
// The zero value works. It may be used by several goroutines.
type Scanner struct {
	mu      sync.Mutex
	strings interner
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
)

// Scan reads one object in one pass over its bytes, and copies what it keeps:
// raw is the caller's again. It fails with a *ScanError exactly where the
// ordinary decoder into metav1.PartialObjectMetadata would fail, save that null
// is no object here, and ErrMapEntry. An object without a name is fine: it is
// for the caller to say whether it may be.
//
// Protobuf is an object in its envelope, with the magic number.
//
// It is meant for an object that comes alone, such as the answer to a GET.
// Those of lists and watches come through a Scanner, which lets them share what
// they have in common.
func Scan(f Format, raw []byte) (*Object, error) {
	l := lexer{data: raw}
	var m meta
	var alone *Scanner
	switch f {
	case JSON:
	case Protobuf:
		return alone.protobuf(&l, &m, 0, len(raw))
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
	return alone.finish(&l, &m, from, to, typeMeta{})
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

// finish makes the Object whose facts m has noted and whose bytes are
// data[from:to].
func (s *Scanner) finish(l *lexer, m *meta, from, to int, item typeMeta) (*Object, error) {
	if l.err != nil || l.bad != nil {
		return nil, l.scanError(m)
	}
	head := item.missing(m)
	o := &Object{format: JSON, generation: m.generation, deleting: m.deleting}
	o.raw = join(head, l.data[from:to])
	if m.to > 0 && len(o.raw) <= math.MaxUint32 {
		shift := len(o.raw) - (to - from) - from
		o.metaFrom, o.metaTo = uint32(m.from+shift), uint32(m.to+shift)
	}
	o.facts(l, m)
	s.shared(o, l, m)
	return o, nil
}

// facts fills in what no other object shares: three strings, in one piece.
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

// shared fills in what other objects are likely to have too.
func (s *Scanner) shared(o *Object, l *lexer, m *meta) {
	var in *interner
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		in = &s.strings
	}
	o.key.Namespace = in.get(l.bytes(m.namespace))
	o.labels = in.labels(l, m.labels)
	if len(m.owners) > 0 {
		o.owners = make([]Owner, len(m.owners))
	}
	for i, span := range m.owners {
		o.owners[i] = Owner{
			APIVersion: in.get(l.bytes(span.apiVersion)),
			Kind:       in.get(l.bytes(span.kind)),
			Name:       in.get(l.bytes(span.name)),
			UID:        types.UID(in.get(l.bytes(span.uid))),
			Controller: span.controller,
		}
	}
}

// fewLabels is up to where looking through the labels is cheaper than a map of
// them.
const fewLabels = 32

// labels keeps the last of several values of one key. Whatever the number of
// labels, it takes time in proportion.
func (in *interner) labels(l *lexer, spans []labelSpan) []label {
	if len(spans) == 0 {
		return nil
	}
	labels := make([]label, 0, len(spans))
	var at map[string]int
	if len(spans) > fewLabels {
		at = make(map[string]int, len(spans))
	}
	for _, span := range spans {
		key := in.get(l.bytes(span.key))
		i := find(labels, key, at)
		if i == len(labels) {
			labels = append(labels, label{key: key})
		}
		labels[i].value = in.get(l.bytes(span.value))
	}
	return labels
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
