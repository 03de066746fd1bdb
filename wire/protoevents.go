package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lengthSize is the length that stands before each frame of a protobuf watch:
// four bytes, the highest first.
const lengthSize = 4

// delimited reads one frame of a protobuf watch. As its length is known, a bad
// frame costs nothing but itself.
func (e *EventReader) delimited() (Event, error) {
	l := &e.lex
	l.begin()
	if !l.have(lengthSize) {
		return Event{}, e.cutShort()
	}
	n := binary.BigEndian.Uint32(l.data)
	if n > MaxFrame-lengthSize {
		e.err = fmt.Errorf("read watch event of %d bytes: %w", n, ErrTooLarge)
		return Event{}, e.err
	}
	l.pos = lengthSize + int(n)
	if !l.have(l.pos) {
		return Event{}, e.cutShort()
	}
	defer e.settle()
	return e.watchEvent(message{data: l.data, pos: lengthSize, end: l.pos})
}

// cutShort is reached when the source ends, or fails, before a frame is whole.
func (e *EventReader) cutShort() error {
	l := &e.lex
	switch {
	case !errors.Is(l.err, io.EOF):
		e.err = fmt.Errorf("read watch event: %w", l.err)
	case len(l.data) == 0:
		e.err = io.EOF
	default:
		e.err = io.ErrUnexpectedEOF
	}
	return e.err
}

// watchEvent takes a metav1.WatchEvent: type (1), and object (2), which is a
// RawExtension with an envelope in it. There is no envelope around the event
// itself.
func (e *EventReader) watchEvent(w message) (Event, error) {
	l := &e.lex
	e.meta.reset()
	var kind, object span
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		switch n {
		case 1:
			kind = w.text(k)
		case 2:
			inner := w.inner(k)
			inner.rawExtension(&object)
			w.err = inner.err
		default:
			w.skip(k)
		}
	}
	if w.err != nil {
		l.bad = w.err
		return Event{}, l.scanError(&e.meta)
	}
	return e.protobufEvent(eventType(l.bytes(kind)), object)
}

func (w *message) rawExtension(to *span) {
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		if n == 1 {
			*to = w.text(k)
		} else {
			w.skip(k)
		}
	}
}

func (e *EventReader) protobufEvent(kind EventType, object span) (Event, error) {
	l := &e.lex
	w := message{data: l.data, pos: object.from, end: object.to}
	in := open(&w)
	if kind == Error {
		return Event{Type: kind, Status: protobufStatus(l, in, w.err, object)}, nil
	}
	if w.err != nil {
		l.bad = w.err
	} else {
		l.body(&e.meta, in.body)
	}
	if err := e.check(kind, object); err != nil && l.bad == nil {
		l.bad = err
	}
	e.loan.apiVersion, e.loan.kind = l.bytes(in.apiVersion), l.bytes(in.kind)
	o, err := e.loan.protobuf(l, &e.meta, in.body)
	return eventOf(kind, o, err)
}

// protobufStatus is statusOf for protobuf. The bytes of another kind may well
// pass for a Status, so the envelope must say that it is one.
func protobufStatus(l *lexer, in envelope, err error, object span) *metav1.Status {
	var status metav1.Status
	if err == nil && string(l.bytes(in.kind)) == "Status" && status.Unmarshal(l.bytes(in.body)) == nil && status.Status != "" {
		status.Kind, status.APIVersion = "Status", string(l.bytes(in.apiVersion))
		return &status
	}
	const most = 512
	return noStatus(fmt.Sprintf("%.*q", most, l.bytes(object)))
}
