package wire

import "fmt"

// Cut is this object without those fields. They are taken out of the bytes,
// with the comma that belongs to them; everything else stays as the server
// spelled it. A map or object that has lost its last member stays, empty: it
// was not named. Where a field is not there, nothing happens; when nothing
// happens at all, the result is o itself.
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
	c := cutter{lexer: lexer{data: o.raw}}
	c.gone = c.few[:0]
	if inside := o.withinMetadata(paths); inside != nil {
		c.pos, paths = int(o.metaFrom), inside
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
	gone []gap // ascending, without overlap
	few  [4]gap
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
	if goes || len(rest) == 0 {
		c.skip()
		return goes
	}
	c.value(rest)
	return false
}

// without is this object with less bytes.
func (o *Object) without(gone []gap) *Object {
	if len(gone) == 0 {
		return o
	}
	total := 0
	for _, g := range gone {
		total += g.to - g.from
	}
	n := *o
	n.raw = make([]byte, 0, len(o.raw)-total)
	at := 0
	for _, g := range gone {
		n.raw = append(n.raw, o.raw[at:g.from]...)
		at = g.to
	}
	n.raw = append(n.raw, o.raw[at:]...)
	n.saved += uint32(total)
	n.metaFrom, n.metaTo = moved(o.metaFrom, gone), moved(o.metaTo, gone)
	if n.metaFrom == 0 || n.metaTo == 0 {
		n.metaFrom, n.metaTo = 0, 0
	}
	return &n
}

// moved is where a position has gone to, 0 if it is gone.
func moved(pos uint32, gone []gap) uint32 {
	less := 0
	for _, g := range gone {
		if g.from < int(pos) && int(pos) < g.to {
			return 0
		}
		if g.to <= int(pos) {
			less += g.to - g.from
		}
	}
	return pos - uint32(less)
}
