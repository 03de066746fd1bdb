package wire

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// A protobuf list comes as an envelope whose body is a message with the
// metadata of the list (1) and its items (2), bare. The envelope gives the
// length of all that, so one who waits for it holds the list whole; here its
// tags are read off the stream, and what is waited for is one item.

// readProtobuf is read for protobuf.
func (p *page) readProtobuf() error {
	l := &p.lex
	p.left = math.MaxInt64
	if !l.have(len(magic)) || string(l.data[:len(magic)]) != magic {
		if l.err == nil {
			l.err = errMagic
		}
		return p.end()
	}
	l.pos = len(magic)
	for p.another() {
		p.envelopeField()
	}
	if errors.Is(l.err, io.EOF) && len(l.data) == 0 {
		l.err = nil
	}
	return p.end()
}

// another forgets the field before, and reports whether there is a next one
// where p.left ends.
func (p *page) another() bool {
	l := &p.lex
	if l.err != nil {
		return false
	}
	l.data = l.feed.settle(l.pos, l.data[l.pos:])
	l.pos = 0
	l.begin()
	return p.left > 0 && l.have(1)
}

func (p *page) envelopeField() {
	number, k := p.tag()
	switch {
	case number == rawField && k == block:
		p.listBody()
	case number == typeMetaField && k == block:
		var e envelope
		w := p.block()
		e.typeMeta(&w)
		if p.took(&w) {
			p.kind, p.apiVersion = string(p.lex.bytes(e.kind)), string(p.lex.bytes(e.apiVersion))
		}
	default:
		p.pass(number, k)
	}
}

// listBody reads the list itself.
func (p *page) listBody() {
	l := &p.lex
	length := p.varint()
	kind, ok := strings.CutSuffix(p.kind, "List")
	switch {
	case l.err != nil:
		return
	case !ok || kind == "":
		l.err = fmt.Errorf("kind %q: %w", p.kind, errNoList)
		return
	case p.found:
		l.failProtobuf("two lists in one answer")
		return
	case length > uint64(p.left):
		l.failProtobuf("a length that leads beyond the end")
		return
	}
	p.found = true
	p.loan.apiVersion, p.loan.kind = []byte(p.apiVersion), []byte(kind)
	behind := p.left - int64(length)
	p.left = int64(length)
	for p.another() {
		p.listField()
	}
	if p.left > 0 && l.err != nil {
		l.err = whole(l.err)
	}
	p.left = behind
}

func (p *page) listField() {
	switch number, k := p.tag(); {
	case number == 1 && k == block:
		w := p.block()
		p.listMeta(&w)
		p.took(&w)
	case number == 2 && k == block:
		w := p.block()
		p.protobufItem(span{from: w.pos, to: w.end})
	default:
		p.pass(number, k)
	}
}

func (p *page) listMeta(w *message) {
	l := &p.lex
	for n, k, ok := w.next(); ok; n, k, ok = w.next() {
		switch n {
		case 2:
			p.about.ResourceVersion = string(l.bytes(w.text(k)))
		case 3:
			p.about.Continue = string(l.bytes(w.text(k)))
		case 4:
			p.about.RemainingItemCount = int64(w.number(k))
		default:
			w.skip(k)
		}
	}
}

func (p *page) protobufItem(at span) {
	l := &p.lex
	if l.err != nil {
		return
	}
	l.body(&p.meta, at)
	if l.bad == nil && p.meta.name.to == p.meta.name.from {
		l.bad = errNameless
	}
	p.hand(p.loan.protobuf(l, &p.meta, at))
}

// tag, varint and block are what a message has under these names, read off the
// stream.
func (p *page) tag() (number int32, k kind) {
	tag := p.varint()
	return int32(tag >> 3), kind(tag & 7)
}

func (p *page) varint() uint64 {
	l := &p.lex
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if p.left == 0 {
			l.failProtobuf("a number that leads beyond the end")
			return 0
		}
		if !l.have(l.pos + 1) {
			return 0
		}
		b := l.data[l.pos]
		l.pos++
		p.left--
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	l.failProtobuf("a number of more than ten bytes")
	return 0
}

// block waits for a block; without one, the message is empty.
func (p *page) block() message {
	length := p.varint()
	return p.bytes(length)
}

func (p *page) bytes(n uint64) message {
	l := &p.lex
	switch {
	case l.err != nil:
	case n > uint64(p.left):
		l.failProtobuf("a length that leads beyond the end")
	case n > MaxFrame:
		l.err = ErrTooLarge
	case l.have(l.pos + int(n)):
		l.pos += int(n)
		p.left -= int64(n)
		return message{data: l.data, pos: l.pos - int(n), end: l.pos}
	}
	return message{}
}

// took makes the fault of a message of the list's own the list's.
func (p *page) took(w *message) bool {
	if p.lex.err == nil {
		p.lex.err = w.err
	}
	return p.lex.err == nil
}

// pass passes over a field that says nothing to us.
func (p *page) pass(number int32, k kind) {
	switch {
	case p.lex.err != nil:
	case number <= 0:
		p.lex.failProtobuf("a field without a number")
	case k == varint:
		p.varint()
	case k == fixed64:
		p.bytes(8)
	case k == block:
		p.block()
	case k == fixed32:
		p.bytes(4)
	default:
		p.lex.failProtobuf("a field of an unknown kind")
	}
}

func (l *lexer) failProtobuf(what string) {
	if l.err == nil {
		l.err = &SyntaxError{Format: Protobuf, Offset: l.pos, What: what}
	}
}
