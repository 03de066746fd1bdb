package wire

import (
	"bytes"
)

// verdict is what a walk in lockstep has found.
type verdict uint8

const (
	same verdict = iota
	different
	unsure // there are members in another order, escapes, a name that comes twice: see differ
)

// lockstep is two objects of which one pass tells whether they differ, as long
// as they are spelled alike: the same members in the same order, as two states
// of one object come from one server. Most of that is equal bytes, of which one
// side is looked through for its end and the other is only compared.
//
// It says same or different only where differ would say so; whatever needs a
// second look it leaves to differ.
type lockstep struct {
	a, b   cursor
	never  [2]Path
	except []Path
}

// alike compares two objects, each of them one JSON object and nothing around
// it.
func alike(a, b []byte, except []Path) verdict {
	w := lockstep{a: cursor{data: a}, b: cursor{data: b}, never: neverCounting(), except: except}
	n := len(w.never) + len(except)
	if n > mostPaths {
		return unsure
	}
	return w.members(firstPaths(n), 0, 1)
}

// below is pathList.below, of never and then of except.
func (w *lockstep) below(live paths, steps int, name []byte) (rest paths, ends bool) {
	n := len(w.never)
	rest, never := pathList(w.never[:]).below(live&firstPaths(n), steps, name)
	more, excepted := pathList(w.except).below(live>>n, steps, name)
	return rest | more<<n, never || excepted
}

// values compares the two values that come next, and passes over them unless it
// is unsure.
func (w *lockstep) values(live paths, steps, depth int) verdict {
	first, other := w.a.peek(), w.b.peek()
	switch {
	case w.equal():
		return same
	case depth > maxChangedDepth:
		return unsure
	case first == '{' && other == '{':
		return w.members(live, steps, depth+1)
	case first == '[' && other == '[':
		return w.elements(live, steps, depth+1)
	}
	a, b := w.a.value(), w.b.value()
	if first == '"' && other == '"' && (coded(a) || coded(b)) {
		return unsure
	}
	return different
}

// equal passes over both values if their bytes are equal. A value that the
// other one begins with is the other one, unless that is a number and goes on.
func (w *lockstep) equal() bool {
	from := w.a.pos
	value := w.a.value()
	to := w.b.pos + len(value)
	if to > len(w.b.data) || !bytes.Equal(value, w.b.data[w.b.pos:to]) || inNumber(w.b.data[to-1]) && inNumber(w.b.data[to]) {
		w.a.pos = from
		return false
	}
	w.b.pos = to
	return true
}

// inNumber is true of all that a number has behind its first byte.
func inNumber(c byte) bool { return digit(c) || c == '.' || c|0x20 == 'e' || c == '+' || c == '-' }

// coded reports whether a string may be spelled in another way.
func coded(value []byte) bool { return pastPlain(value, 1) < len(value)-1 }

func (w *lockstep) elements(live paths, steps, depth int) verdict {
	found := same
	a, b := w.a.enter(), w.b.enter()
	for a && b && found == same {
		if found = w.values(live, steps, depth); found != unsure {
			a, b = w.a.next(), w.b.next()
		}
	}
	if found == unsure || !a && !b {
		return found
	}
	w.a.leave(a)
	w.b.leave(b)
	return different
}

// members compares two objects. A member that differs decides, but only at
// their end: if its name comes again, the last one counts.
func (w *lockstep) members(live paths, steps, depth int) verdict {
	var odd []byte // the name of the member that differs
	a, b := w.a.enter(), w.b.enter()
	for {
		name, rest, isPlain := w.counting(&w.a, a, live, steps)
		other, _, otherIsPlain := w.counting(&w.b, b, live, steps)
		switch {
		case !isPlain || !otherIsPlain || (name == nil) != (other == nil) || !bytes.Equal(name, other):
			return unsure
		case name == nil && odd == nil:
			return same
		case name == nil:
			return different
		case odd == nil:
			switch w.values(rest, steps+1, depth) {
			case unsure:
				return unsure
			case different:
				odd = name
			case same:
			}
		case bytes.Equal(name, odd):
			return unsure
		default:
			w.a.value()
			w.b.value()
		}
		a, b = w.a.next(), w.b.next()
	}
}

// counting passes over members that are excepted, and takes the name of the
// next one that counts, with the paths that lead on into it. There is none if
// it is nil. A name that is not plain may be another's.
func (w *lockstep) counting(c *cursor, more bool, live paths, steps int) (name []byte, rest paths, isPlain bool) {
	for ; more; more = c.next() {
		name, isPlain = c.name()
		if !isPlain {
			return nil, 0, false
		}
		rest, ends := w.below(live, steps, name)
		if !ends {
			return name, rest, true
		}
		c.value()
	}
	return nil, 0, true
}
