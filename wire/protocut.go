package wire

import (
	"errors"
	"fmt"
)

// ErrPath is the fault of a path that leads where the fields of a protobuf
// object have no names for us: see Cut.
var ErrPath = errors.New("wire: a path that a protobuf object does not show")

// cutProtobuf is Cut for protobuf.
func (o *Object) cutProtobuf(paths []Path) (*Object, error) {
	e := o.opened()
	s := shapeOf(o.part(e.apiVersion), o.part(e.kind))
	for _, p := range paths {
		if !s.names(p) {
			return nil, fmt.Errorf("cut %s out of %s: %w", p, o.key, ErrPath)
		}
	}
	c := messageCutter{data: o.raw}
	c.edits = c.few[:0]
	less := c.inner(e.body.from-sizeOfVarint(uint64(e.body.to-e.body.from)), e.body.to, s, paths)
	if less == 0 {
		return o, nil
	}
	n := *o
	n.raw = c.apply(make([]byte, 0, len(o.raw)-less))
	n.saved += uint32(less)
	return &n, nil
}

// messageCutter walks over an object and notes what has to become of it: fields
// go away, and the messages that they were in become shorter, which their
// lengths say.
type messageCutter struct {
	data  []byte
	edits []edit // ascending, without overlap
	few   [6]edit
}

// edit puts a length in the place of some bytes, or nothing.
type edit struct {
	gap
	length int // negative: nothing
}

// inner notes what becomes of the message whose length begins at from and which
// ends at to, and tells how many bytes less it will be, its length included.
func (c *messageCutter) inner(from, to int, s shape, paths []Path) (less int) {
	w := message{data: c.data, pos: from, end: to}
	at := w.bytes()
	mine := len(c.edits)
	c.edits = append(c.edits, edit{gap: gap{from, at.from}})
	less = c.fields(at, s, paths)
	if less == 0 {
		c.edits = c.edits[:mine]
		return 0
	}
	length := at.to - at.from - less
	c.edits[mine].length = length
	return less + at.from - from - sizeOfVarint(uint64(length))
}

func (c *messageCutter) fields(at span, s shape, paths []Path) (less int) {
	w := message{data: c.data, pos: at.from, end: at.to}
	for from := w.pos; ; from = w.pos {
		n, k, ok := w.next()
		if !ok {
			return less
		}
		value := w.pos
		f := s.field(n)
		rest, goes := below(paths, []byte(f.name))
		switch {
		case f.of == mapEntry && len(rest) > 0:
			e := w.entry(k)
			_, goes = below(rest, c.data[e.key.from:e.key.to])
		default:
			w.skip(k)
		}
		switch {
		case goes && f.name != "":
			c.edits = append(c.edits, edit{gap{from, w.pos}, -1})
			less += w.pos - from
		case len(rest) > 0 && f.of.holds():
			less += c.inner(value, w.pos, f.of, rest)
		}
	}
}

// apply copies the object, with what was noted.
func (c *messageCutter) apply(to []byte) []byte {
	at := 0
	for _, e := range c.edits {
		to = append(to, c.data[at:e.from]...)
		if e.length >= 0 {
			to = appendVarint(to, uint64(e.length))
		}
		at = e.to
	}
	return append(to, c.data[at:]...)
}
