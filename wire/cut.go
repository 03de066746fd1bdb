package wire

import (
	"fmt"
	"strings"
)

// Cut is this object without those fields. They are taken out of the bytes,
// with the comma that belongs to them; everything else stays as the server
// spelled it. A map or object that has lost its last member stays, empty: it
// was not named. Where a field is not there, nothing happens; when nothing
// happens at all, the result is o itself. Of an object that was lent, what Cut
// makes is not: it copies what is left, once.
//
// What Scan has read (labels, owners, …) stays known even if its field is cut.
//
// In protobuf fields have numbers, not names, and which is which is known for
// metadata and all that is in it, and for the status of the built-in kinds as a
// whole. Any other path is ErrPath, and nothing is cut: it would be easy to pass
// over it in silence, and hard to find out why a cache is so large. A map has no
// bytes of its own there, and is gone with its last member.
//
// The error is for a path without names, and ErrPath.
func (o *Object) Cut(paths ...Path) (*Object, error) {
	for _, p := range paths {
		if len(p) == 0 {
			return nil, fmt.Errorf("cut %s: a path without names", o.key)
		}
	}
	if o.format == Protobuf {
		return o.cutProtobuf(paths)
	}
	inside := o.withinMetadata(paths)
	if inside == nil && len(o.head()) > 0 {
		o = o.Own() // a path may lead to what is in the head
	}
	c := cutter{lexer: lexer{data: o.raw}}
	c.gone = c.few[:0]
	if o.loan != nil {
		c.managed = o.loan.managed
	}
	if inside != nil {
		c.pos, paths = int(o.metaFrom)-len(o.head()), inside
	}
	if c.value(paths); c.err != nil {
		return nil, fmt.Errorf("cut %s: %w", o.key, c.err)
	}
	return o.without(c.gone), nil
}

// withinMetadata is what is left of the paths if all of them lead into
// metadata, and it is known where that is; so the common cuts look at a part of
// the object only.
func (o *Object) withinMetadata(paths []Path) []Path {
	if o.metaTo == 0 {
		return nil
	}
	inside := make([]Path, 0, len(paths))
	for _, p := range paths {
		if len(p) < 2 || p[0] != "metadata" {
			return nil
		}
		inside = append(inside, p[1:])
	}
	return inside
}

// cutter walks over an object and notes what has to go.
type cutter struct {
	lexer
	gone    []gap // ascending, without overlap
	few     [4]gap
	managed gap // see loan
}

// gap is a part of the bytes that goes away.
type gap struct{ from, to int }

// value passes over one value that some paths lead into.
func (c *cutter) value(paths []Path) {
	switch c.peek() {
	case '{':
		c.members(paths)
	case '[':
		for more := c.enter('['); more; more = c.next('[') {
			c.value(paths)
		}
	default:
		c.skip()
	}
}

// members passes over an object. A member that goes takes a comma with it: the
// one before it if a member before it stays, else the one behind it.
func (c *cutter) members(paths []Path) {
	stays := false
	comma := 0 // the one before this member
	for more := c.enter('{'); more; {
		c.peek()
		from := c.pos
		goes := c.member(paths)
		to, behind := c.pos, 0
		if more = c.next('{'); more {
			behind = c.pos - 1
			c.peek()
		}
		switch {
		case !goes:
			stays = true
		case stays:
			c.gone = append(c.gone, gap{comma, to})
		case more:
			c.gone = append(c.gone, gap{from, c.pos})
		default:
			c.gone = append(c.gone, gap{from, to})
		}
		comma = behind
	}
}

// member passes over one member and reports whether it has to go.
func (c *cutter) member(paths []Path) bool {
	rest, goes := below(paths, c.bytes(c.key()))
	switch {
	case !goes && len(rest) > 0:
		c.value(rest)
	case c.peek() != 0 && c.pos == c.managed.from:
		c.pos = c.managed.to
	default:
		c.skip()
	}
	return goes
}

// without is this object with less bytes.
func (o *Object) without(gone []gap) *Object {
	if len(gone) == 0 {
		return o
	}
	n := o.keep()
	n.raw = remaining(o.head(), o.raw, gone)
	n.saved += uint32(o.length() - len(n.raw))
	n.metaFrom, n.metaTo = o.moved(o.metaFrom, gone), o.moved(o.metaTo, gone)
	if n.metaFrom == 0 || n.metaTo == 0 {
		n.metaFrom, n.metaTo = 0, 0
	}
	return n
}

// remaining is a copy of what is left.
func remaining(head, raw []byte, gone []gap) []byte {
	size := len(head) + len(raw)
	for _, g := range gone {
		size -= g.to - g.from
	}
	var b strings.Builder
	b.Grow(size)
	b.Write(head)
	at := 0
	for _, g := range gone {
		b.Write(raw[at:g.from])
		at = g.to
	}
	b.Write(raw[at:])
	return built(&b)
}

// moved is where a position has gone to, 0 if it is gone.
func (o *Object) moved(pos uint32, gone []gap) uint32 {
	inRaw := int(pos) - len(o.head())
	less := 0
	for _, g := range gone {
		if g.from < inRaw && inRaw < g.to {
			return 0
		}
		if g.to <= inRaw {
			less += g.to - g.from
		}
	}
	return pos - uint32(less)
}
