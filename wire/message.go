package wire

import "io"

// A message walks over one protobuf message, field by field, and checks that
// every field ends where its message does. It remembers nothing but positions,
// which count from the beginning of data, so that a position within a message
// within a message means something to everybody.
//
// After the first error it stands still, as the lexer does: next returns no
// further field, and err says why.
type message struct {
	data     []byte
	pos, end int
	err      error // *SyntaxError
}

// kind is how a field is spelled: the low three bits of its tag.
type kind uint8

const (
	varint     kind = 0
	fixed64    kind = 1
	block      kind = 2 // a length, and so many bytes: a string or a message
	groupBegin kind = 3
	groupEnd   kind = 4
	fixed32    kind = 5
)

func (w *message) fail(what string) {
	if w.err == nil {
		w.err = &SyntaxError{Format: Protobuf, Offset: w.pos, What: what}
	}
}

// next takes the tag of the next field; false at the end of the message and
// after an error. Of the number only 32 bits count, as everywhere.
func (w *message) next() (number int32, k kind, ok bool) {
	if w.pos >= w.end || w.err != nil {
		return 0, 0, false
	}
	tag := w.varint()
	number, k = int32(tag>>3), kind(tag&7)
	switch {
	case w.err != nil:
	case k == groupEnd:
		w.fail("the end of a group that has not begun")
	case number <= 0:
		w.fail("a field without a number")
	}
	return number, k, w.err == nil
}

// varint takes a number of at most ten bytes; it may be spelled longer than it
// need be, and what goes beyond 64 bits is dropped.
func (w *message) varint() uint64 {
	if w.pos < w.end && w.data[w.pos] < 0x80 {
		w.pos++
		return uint64(w.data[w.pos-1])
	}
	var n uint64
	for shift := uint(0); shift < 64; shift += 7 {
		if w.pos >= w.end {
			w.err = io.ErrUnexpectedEOF
			return 0
		}
		b := w.data[w.pos]
		w.pos++
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	w.fail("a number of more than ten bytes")
	return 0
}

// bytes takes the length of a block, and the block.
func (w *message) bytes() span {
	n := w.varint()
	if w.err == nil && n > uint64(w.end-w.pos) {
		w.fail("a length that leads beyond the end")
	}
	if w.err != nil {
		return span{}
	}
	s := span{from: w.pos, to: w.pos + int(n)}
	w.pos = s.to
	return s
}

// text takes the value of a field that must be a block.
func (w *message) text(k kind) span {
	if !w.must(k, block) {
		return span{}
	}
	return w.bytes()
}

// number takes the value of a field that must be a number.
func (w *message) number(k kind) uint64 {
	if !w.must(k, varint) {
		return 0
	}
	return w.varint()
}

func (w *message) must(k, want kind) bool {
	if k != want {
		w.fail("a field that is spelled as another kind")
	}
	return w.err == nil
}

// inner is the message in a field that must be one.
func (w *message) inner(k kind) message {
	s := w.text(k)
	return message{data: w.data, pos: s.from, end: s.to, err: w.err}
}

// skip passes over the value of a field.
func (w *message) skip(k kind) {
	switch k {
	case varint:
		w.varint()
	case fixed64:
		w.advance(8)
	case block:
		w.bytes()
	case groupBegin:
		w.group()
	case fixed32:
		w.advance(4)
	case groupEnd:
		w.fail("the end of a group that has not begun")
	default:
		w.fail("a field of an unknown kind")
	}
}

func (w *message) advance(n int) {
	if w.end-w.pos < n {
		w.fail("a field that leads beyond the end")
		return
	}
	w.pos += n
}

// group passes over a group, however deep, in one loop. Nobody has written
// groups for long; the ordinary decoder passes over them, and so do we.
func (w *message) group() {
	for open := 1; open > 0 && w.err == nil; {
		switch k := kind(w.varint() & 7); k {
		case groupBegin:
			open++
		case groupEnd:
			open--
		default:
			w.skip(k)
		}
	}
}

// appendVarint spells a number as short as it can be.
func appendVarint(b []byte, n uint64) []byte {
	for ; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}

// sizeOfVarint is how many bytes appendVarint appends.
func sizeOfVarint(n uint64) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}
