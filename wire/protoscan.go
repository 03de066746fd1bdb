package wire

import (
	"errors"
	"fmt"
)

// ErrMapEntry is the fault of a label or annotation of which key or value are
// no strings, or lead beyond its end.
//
// It is the one input that the ordinary decoder takes and we refuse: that one
// looks at neither, and so takes bytes of the next field for a part of this
// one. No encoder writes this; were it let through, a Cut next to it would
// change it.
var ErrMapEntry = errors.New("a map entry that is not made of two strings")

// enveloped lends the object that is all of the lexer's data, in its envelope.
func (b *loan) enveloped(l *lexer, m *meta) (*Object, error) {
	w := messageOf(l.data)
	e := open(&w)
	if w.err != nil {
		m.reset()
		l.bad = w.err
		return nil, l.scanError(m)
	}
	l.body(m, e.body)
	b.apiVersion, b.kind = l.bytes(e.apiVersion), l.bytes(e.kind)
	return b.protobuf(l, m, e.body)
}

// body takes one API object, without its envelope, and fills m; the counterpart
// of object. Of all that is not metadata it looks at the length alone.
func (l *lexer) body(m *meta, at span) {
	m.reset()
	w := message{data: l.data, pos: at.from, end: at.to}
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		if n == metadataField {
			inner := w.inner(k)
			m.protobuf(&inner)
			w.err = inner.err
		} else {
			w.skip(k)
		}
	}
	if w.err == nil && m.tree.knowsProtobuf() {
		m.protobufFacets(message{data: l.data, pos: at.from, end: at.to})
	}
	if w.err != nil && l.bad == nil {
		l.bad = w.err
	}
}

// protobuf is json for a body that has been taken; what it is the loan says.
func (b *loan) protobuf(l *lexer, m *meta, body span) (*Object, error) {
	if l.err == nil && l.bad == nil && b.scanner.strange(b.kind) {
		l.bad = fmt.Errorf("%w: %.100q", errKind, b.kind)
	}
	if l.err != nil || l.bad != nil {
		return nil, l.scanError(m)
	}
	b.head = appendEnvelope(b.head[:0], b.apiVersion, b.kind, body.to-body.from)
	return b.lend(l, m, Protobuf, l.data[body.from:body.to:body.to]), nil
}

// protobuf takes one ObjectMeta. One that comes twice is laid over the first.
func (m *meta) protobuf(w *message) {
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		switch n {
		case 1:
			m.name = w.text(k)
		case 3:
			m.namespace = w.text(k)
		case 5:
			m.uid = w.text(k)
		case 6:
			m.version = w.text(k)
		case 7:
			m.generation = int64(w.number(k))
		case 9:
			m.deleting = true
			w.check(k, timestamp)
		case 11:
			m.labels = append(m.labels, w.entry(k))
		case annotationsField:
			w.entry(k)
		case 13:
			inner := w.inner(k)
			if len(m.owners) == maxOwners {
				w.err = ErrManyOwners
				return
			}
			m.growOwners()
			m.owners[len(m.owners)-1].protobuf(&inner)
			w.err = inner.err
		default:
			w.known(k, metaField(n))
		}
	}
}

func (o *ownerSpan) protobuf(w *message) {
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		switch n {
		case 1:
			o.kind = w.text(k)
		case 3:
			o.name = w.text(k)
		case 4:
			o.uid = w.text(k)
		case 5:
			o.apiVersion = w.text(k)
		case 6:
			o.controller = w.number(k) != 0
		default:
			w.known(k, ownerField(n))
		}
	}
}

// entry takes a member of a map: a message of key (1) and value (2).
func (w *message) entry(k kind) labelSpan {
	var e labelSpan
	inner := w.inner(k)
	if inner.err != nil {
		return e
	}
	for n, k, ok := inner.next(); ok; n, k, ok = inner.next() {
		switch n {
		case 1:
			e.key = inner.text(k)
		case 2:
			e.value = inner.text(k)
		default:
			inner.skip(k)
		}
	}
	if inner.err != nil {
		w.err = errors.Join(ErrMapEntry, inner.err)
	}
	return e
}

// known passes over a field of which the kind is known, and what is in it.
func (w *message) known(k kind, f field) {
	switch {
	case f.name == "":
		w.skip(k)
	case f.kind == varint:
		w.number(k)
	case f.of == scalar:
		w.text(k)
	default:
		w.check(k, f.of)
	}
}

// check passes over a message of a shape, and over those in it: shapes are not
// deep.
func (w *message) check(k kind, s shape) {
	inner := w.inner(k)
	for n, k, ok := inner.next(); ok; n, k, ok = inner.next() {
		inner.known(k, s.field(n))
	}
	w.err = inner.err
}
