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
	if len(paths) > mostPaths {
		o, err := o.Cut(paths[:mostPaths]...)
		if err != nil {
			return nil, err
		}
		return o.Cut(paths[mostPaths:]...)
	}
	if o.format == Protobuf {
		return o.cutProtobuf(paths)
	}
	inside := o.metaTo > 0 && withinMetadata(paths)
	if !inside && len(o.head()) > 0 {
		o = o.Own() // a path may lead to what is in the head
	}
	c := o.cutter()
	c.paths = paths
	steps := 0
	if inside {
		c.pos, steps = int(o.metaFrom)-len(o.head()), 1
	}
	if c.value(firstPaths(len(paths)), steps); c.err != nil {
		return nil, fmt.Errorf("cut %s: %w", o.key, c.err)
	}
	return o.without(c.gone), nil
}

// withinMetadata reports whether all paths lead into metadata: the common cuts
// need look at that part of the object only.
func withinMetadata(paths []Path) bool {
	for _, p := range paths {
		if len(p) < 2 || p[0] != "metadata" {
			return false
		}
	}
	return true
}

// cutter walks over an object and notes what has to go.
type cutter struct {
	lexer
	paths   pathList
	gone    []gap // ascending, without overlap
	managed gap   // see loan
}

// cutter is one for the bytes of this object; of a lent one that of its loan,
// which has cut others before.
func (o *Object) cutter() *cutter {
	if o.loan == nil {
		return &cutter{lexer: lexer{data: o.raw}}
	}
	c := &o.loan.cutter
	*c = cutter{lexer: lexer{data: o.raw}, gone: spare(c.gone), managed: o.loan.managed}
	return c
}

// gap is a part of the bytes that goes away.
type gap struct{ from, to int }

// value passes over one value that the live paths lead into.
func (c *cutter) value(live paths, steps int) {
	switch c.peek() {
	case '{':
		c.members(live, steps)
	case '[':
		for more := c.enter('['); more; more = c.next('[') {
			c.value(live, steps)
		}
	default:
		c.skip()
	}
}

// members passes over an object. A member that goes takes a comma with it: the
// one before it if a member before it stays, else the one behind it.
func (c *cutter) members(live paths, steps int) {
	stays := false
	comma := 0 // the one before this member
	for more := c.enter('{'); more; {
		c.peek()
		from := c.pos
		goes := c.member(live, steps)
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
func (c *cutter) member(live paths, steps int) bool {
	rest, goes := c.paths.below(live, steps, c.bytes(c.key()))
	switch {
	case !goes && rest != 0:
		c.value(rest, steps+1)
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
