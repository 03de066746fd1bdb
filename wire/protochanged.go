package wire

import "bytes"

// messagesDiffer is Changed for two protobuf objects. Both are walked over once,
// side by side, and nothing is allocated.
func messagesDiffer(a, b *Object, except []Path) bool {
	apiVersion, kind, x := a.sealed()
	otherVersion, otherKind, y := b.sealed()
	if !bytes.Equal(apiVersion, otherVersion) || !bytes.Equal(kind, otherKind) {
		return true
	}
	if bytes.Equal(x, y) {
		return false
	}
	w := lockstep{never: neverCounting(), except: except}
	n := len(w.never) + len(except)
	if n > mostPaths {
		return true
	}
	return w.messages(messageOf(x), messageOf(y), shapeOf(apiVersion, kind), firstPaths(n), 0)
}

// counted is a field that counts.
type counted struct {
	number int32
	whole  []byte // tag and value
	of     shape
	rest   paths   // those that lead on into it
	inner  message // if there are any
}

// messages compares two messages of one shape. steps is how many names have
// been passed on the way here.
func (w *lockstep) messages(a, b message, s shape, live paths, steps int) bool {
	for {
		x, more := w.nextCounting(&a, s, live, steps)
		y, other := w.nextCounting(&b, s, live, steps)
		switch {
		case !more && !other:
			return false
		case x.number != y.number: // 0 if there is no further one
			return true
		case bytes.Equal(x.whole, y.whole):
		case x.rest == 0 || w.messages(x.inner, y.inner, x.of, x.rest, steps+1):
			return true
		}
	}
}

// nextCounting takes the next field that counts. Metadata of which only
// excepted fields are left does not.
func (w *lockstep) nextCounting(m *message, s shape, live paths, steps int) (counted, bool) {
	for {
		c, ok := w.notExcepted(m, s, live, steps)
		if ok && c.of == objectMeta && c.rest != 0 {
			inner := c.inner
			if _, more := w.notExcepted(&inner, objectMeta, c.rest, steps+1); !more {
				continue
			}
		}
		return c, ok
	}
}

// notExcepted passes over fields, and members of maps, that are excepted, and
// takes the next one.
func (w *lockstep) notExcepted(m *message, s shape, live paths, steps int) (counted, bool) {
	for {
		from := m.pos
		n, k, ok := m.next()
		if !ok {
			return counted{}, false
		}
		f := s.field(n)
		c := counted{number: n, of: f.of}
		excepted := false
		if f.name != "" {
			c.rest, excepted = w.below(live, steps, []byte(f.name))
		}
		switch {
		case f.of == mapEntry && c.rest != 0:
			e := m.entry(k)
			_, excepted = w.below(c.rest, steps+1, m.data[e.key.from:e.key.to])
			c.rest = 0
		case f.of.holds() && c.rest != 0:
			c.inner = m.inner(k)
		default:
			m.skip(k)
			c.rest = 0
		}
		if !excepted {
			c.whole = m.data[from:m.pos]
			return c, true
		}
	}
}
