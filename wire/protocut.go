package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// ErrPath is the fault of a path that leads where the fields of a protobuf
// object have no names for us: see Cut.
var ErrPath = errors.New("wire: a path that a protobuf object does not show")

// cutProtobuf is Cut for protobuf.
func (o *Object) cutProtobuf(paths []Path) (*Object, error) {
	apiVersion, kind, body := o.sealed()
	s := shapeOf(apiVersion, kind)
	for _, p := range paths {
		if !s.names(p) {
			return nil, fmt.Errorf("cut %s out of %s: %w", p, o.key, ErrPath)
		}
	}
	c := o.messageCutter()
	c.data, c.paths = body, paths
	less := c.fields(span{to: len(body)}, s, firstPaths(len(paths)), 0)
	if less == 0 {
		return o, nil
	}
	var few [64]byte
	head := appendEnvelope(few[:0], apiVersion, kind, len(body)-less)
	n := o.keep()
	n.raw = c.apply(head, len(body)-less)
	n.saved += uint32(o.length() - len(n.raw))
	return n, nil
}

// messageCutter walks over an object and notes what has to become of it: fields
// go away, and the messages that they were in become shorter, which their
// lengths say.
type messageCutter struct {
	data  []byte
	paths pathList
	edits []edit // ascending, without overlap
}

// messageCutter is what Object.cutter is.
func (o *Object) messageCutter() *messageCutter {
	if o.loan == nil {
		return new(messageCutter)
	}
	c := &o.loan.messages
	c.edits = spare(c.edits)
	return c
}

// edit puts a length in the place of some bytes, or nothing.
type edit struct {
	gap
	length int // negative: nothing
}

// inner notes what becomes of the message whose length begins at from and which
// ends at to, and tells how many bytes less it will be, its length included.
func (c *messageCutter) inner(from, to int, s shape, live paths, steps int) (less int) {
	w := message{data: c.data, pos: from, end: to}
	at := w.bytes()
	mine := len(c.edits)
	c.edits = append(c.edits, edit{gap: gap{from, at.from}})
	less = c.fields(at, s, live, steps)
	if less == 0 {
		c.edits = c.edits[:mine]
		return 0
	}
	length := at.to - at.from - less
	c.edits[mine].length = length
	return less + at.from - from - sizeOfVarint(uint64(length))
}

func (c *messageCutter) fields(at span, s shape, live paths, steps int) (less int) {
	w := message{data: c.data, pos: at.from, end: at.to}
	for from := w.pos; ; from = w.pos {
		n, k, ok := w.next()
		if !ok {
			return less
		}
		value := w.pos
		f := s.field(n)
		rest, goes := c.paths.below(live, steps, []byte(f.name))
		switch {
		case f.of == mapEntry && rest != 0:
			e := w.entry(k)
			_, goes = c.paths.below(rest, steps+1, c.data[e.key.from:e.key.to])
		default:
			w.skip(k)
		}
		switch {
		case goes && f.name != "":
			c.edits = append(c.edits, edit{gap{from, w.pos}, -1})
			less += w.pos - from
		case rest != 0 && f.of.holds():
			less += c.inner(value, w.pos, f.of, rest, steps+1)
		}
	}
}

// apply copies the object behind its head, with what was noted.
func (c *messageCutter) apply(head []byte, body int) []byte {
	var b strings.Builder
	b.Grow(len(head) + body)
	b.Write(head)
	var few [binary.MaxVarintLen64]byte
	at := 0
	for _, e := range c.edits {
		b.Write(c.data[at:e.from])
		if e.length >= 0 {
			b.Write(appendVarint(few[:0], uint64(e.length)))
		}
		at = e.to
	}
	b.Write(c.data[at:])
	return built(&b)
}
