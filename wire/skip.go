package wire

import (
	"encoding/binary"
	"math/bits"
)

// Most of an object nobody asks for: its spec, its status, its managedFields.
// This is how a scan gets past that, and where it spends its time.

// step is what has to come next, within a value that is passed over.
type step uint8

const (
	wantValue step = iota
	wantName       // of a member
	wantEnd        // a comma or the bracket that closes; nothing if none is open
)

// skip takes one value of any kind, however deep, in one loop: hostile nesting
// must not become a deep Go stack.
//
// What is plain goes by in stride; the rest, of which there is little, is taken
// by the lexer's own methods, which know all of JSON, wait for what has not
// arrived, and say what is wrong.
func (l *lexer) skip() {
	if l.nest == nil {
		l.nest = l.few[:0]
	}
	nest := l.nest[:0]
	for next := wantValue; l.err == nil; {
		l.pos, nest, next = stride(l.data, l.pos, nest, next, maxDepth-l.depth)
		if next == wantEnd && len(nest) == 0 {
			l.nest = nest
			return
		}
		nest, next = l.step(nest, next)
	}
}

// step takes what comes next, whatever it is.
func (l *lexer) step(nest []byte, next step) ([]byte, step) {
	c := l.peek()
	switch {
	case next == wantName:
		l.key()
		return nest, wantValue
	case next == wantEnd:
		return l.leave(nest)
	case c == '{' || c == '[':
		return l.open(nest, c)
	case c == '"':
		l.string()
	default:
		l.scalar()
	}
	return nest, wantEnd
}

// open takes an opening bracket, and the closing one if nothing is between them.
func (l *lexer) open(nest []byte, bracket byte) ([]byte, step) {
	if l.depth+len(nest) >= maxDepth {
		l.fail("too deep")
		return nest, wantEnd
	}
	l.pos++
	if l.peek() == closing(bracket) {
		l.pos++
		return nest, wantEnd
	}
	return append(nest, bracket), stepIn(bracket)
}

// stepIn is what comes first, and behind each comma, between such brackets.
func stepIn(bracket byte) step {
	if bracket == '{' {
		return wantName
	}
	return wantValue
}

// leave takes what stands behind a value.
func (l *lexer) leave(nest []byte) ([]byte, step) {
	open := nest[len(nest)-1]
	switch l.peek() {
	case ',':
		l.pos++
		return nest, stepIn(open)
	case closing(open):
		l.pos++
		return nest[:len(nest)-1], wantEnd
	default:
		l.fail("want , or " + string(closing(open)))
		return nest, wantEnd
	}
}

// stride goes on from a step to the next one that needs a closer look, and says
// where that is. It knows how a server writes JSON: without white space, with
// whole numbers. It never fails.
func stride(data []byte, i int, nest []byte, next step, most int) (int, []byte, step) {
	for i < len(data) {
		c := data[i]
		to := 0 // where what is taken ends; 0: it is not taken
		switch {
		case next == wantEnd:
			if len(nest) == 0 {
				return i, nest, wantEnd
			}
			switch open := nest[len(nest)-1]; c {
			case ',':
				i, next = i+1, stepIn(open)
				continue
			case closing(open):
				i, nest = i+1, nest[:len(nest)-1]
				continue
			}
		case next == wantName:
			if to = pastName(data, i); to > 0 {
				i, next = to, wantValue
				continue
			}
		case c == '"':
			to = pastQuote(data, i+1)
		case !opens(c):
			to = pastScalar(data, i)
		case len(nest) < most && i+1 < len(data) && data[i+1] > ' ':
			if data[i+1] != closing(c) {
				i, nest, next = i+1, append(nest, c), stepIn(c)
				continue
			}
			to = i + 2
		}
		if to == 0 {
			break
		}
		i, next = to, wantEnd
	}
	return i, nest, next
}

// pastName is behind a name and its colon; 0 as below.
func pastName(data []byte, i int) int {
	if data[i] != '"' {
		return 0
	}
	i = pastQuote(data, i+1)
	if i == 0 || i == len(data) || data[i] != ':' {
		return 0
	}
	return i + 1
}

// pastQuote is behind the quote that closes the string whose text begins at i;
// 0 if that is not at hand, or nothing to take without a closer look.
func pastQuote(data []byte, i int) int {
	for i+8 <= len(data) {
		found := special(binary.LittleEndian.Uint64(data[i:]))
		if found == 0 {
			i += 8
			continue
		}
		i += bits.TrailingZeros64(found) / 8
		switch c := data[i]; {
		case c == '"':
			return i + 1
		case c >= 0x80:
			i++
		case c == '\\' && i+1 < len(data) && short(data[i+1]):
			i += 2
		default:
			return 0
		}
	}
	return 0
}

// short is true of what stands behind the backslash of an escape of two bytes.
func short(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	default:
		return false
	}
}

// pastScalar is behind a number, true, false or null; 0 as above.
func pastScalar(data []byte, i int) int {
	if digit(data[i]) {
		return pastDigits(data, i)
	}
	return pastWord(data, i)
}

// pastDigits is behind a number that has nothing but digits; 0 if it has.
func pastDigits(data []byte, i int) int {
	from := i
	for i < len(data) && digit(data[i]) {
		i++
	}
	if i == len(data) || data[from] == '0' && i > from+1 || data[i] != ',' && !closes(data[i]) {
		return 0
	}
	return i
}

// pastWord is behind true, false or null.
func pastWord(data []byte, i int) int {
	rest := data[i:]
	switch {
	case len(rest) < len("false"):
		return 0
	case string(rest[:4]) == "true", string(rest[:4]) == "null":
		return i + 4
	case string(rest[:5]) == "false":
		return i + 5
	default:
		return 0
	}
}
