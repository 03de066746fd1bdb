package wire

import (
	"fmt"
	"io"
)

// maxDepth is how many objects and arrays may be open at once: the bound of the
// ordinary Kubernetes JSON decoder, so that what it refuses as too deep we
// refuse too. The stack that it costs us is a byte for each level.
const maxDepth = 10000

// A lexer walks over JSON once, checks its grammar, and remembers nothing but
// positions. It reads from its feed when the bytes at hand end, also in the
// middle of a word, so that a frame is looked at once and not first searched
// for its end.
//
// After the first error it stands still: every method returns at once, and err
// says why. That keeps the loops that use it free of error handling; they look
// at err when they are done. What is well-formed but not what was wanted (a
// number where a name should be) does not stop it: bad keeps the first such
// fault.
type lexer struct {
	data  []byte   // from the first byte of the value in hand to the last byte that was read
	pos   int      // the next byte to look at
	feed  *feed    // where more comes from; nil when data is all there is
	err   error    // why it stopped: *SyntaxError, io.EOF, ErrTooLarge, or what the source said
	bad   error    // the first value of a wrong kind
	depth int      // objects and arrays entered and not left
	nest  []byte   // scratch of skip: the brackets that are open
	few   [24]byte // room for nest, which is seldom deeper
	clear []byte   // scratch of bytes: a string without its escapes
}

// A span is where a string stands, without its quotes. It stays valid until the
// lexer begins the next value.
type span struct {
	from, to int
	coded    bool // there are escapes or bytes beyond ASCII: it must be decoded to be compared or kept
}

// SyntaxError says that the bytes are not what they are said to be.
type SyntaxError struct {
	Format Format // what they are not; the zero value stands for JSON
	Offset int    // from the beginning of the value; in protobuf, of its frame
	What   string // what is wrong there
}

func (e *SyntaxError) Error() string {
	name := "JSON"
	if e.Format == Protobuf {
		name = "protobuf"
	}
	return fmt.Sprintf("not %s at byte %d: %s", name, e.Offset, e.What)
}

// begin forgets what lies behind: positions count from here on.
func (l *lexer) begin() {
	l.data = l.data[l.pos:]
	l.pos, l.bad = 0, nil
	l.clear = spare(l.clear)
}

func (l *lexer) fail(what string) {
	if l.err == nil {
		l.err = &SyntaxError{Offset: l.pos, What: what}
	}
}

// refuse notes a fault that does not stop the walk.
func (l *lexer) refuse(err error) {
	if l.bad == nil {
		l.bad = err
	}
}

// mismatch passes over a value that is not of the wanted kind.
func (l *lexer) mismatch(want string) {
	if l.bad == nil { // or formatting it would be in vain
		l.bad = fmt.Errorf("byte %d: want %s", l.pos, want)
	}
	l.skip()
}

// more makes data longer. False means that there is nothing more; err says why.
func (l *lexer) more() bool {
	if l.err != nil {
		return false
	}
	if l.feed == nil {
		l.err = io.EOF
		return false
	}
	l.data, l.err = l.feed.extend(l.data)
	return l.err == nil
}

// peek passes over white space and returns the byte that follows without taking
// it; 0 when there is none.
func (l *lexer) peek() byte {
	if l.pos < len(l.data) && l.data[l.pos] > ' ' && l.err == nil {
		return l.data[l.pos]
	}
	return l.peekFar()
}

func (l *lexer) peekFar() byte {
	for l.err == nil {
		for l.pos < len(l.data) {
			c := l.data[l.pos]
			if c > ' ' || (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
				return c
			}
			l.pos++
		}
		l.more()
	}
	return 0
}

// enter opens an object or an array and reports whether it has a first element.
// It must stand before the bracket.
func (l *lexer) enter(bracket byte) bool {
	if l.peek() != bracket {
		l.fail("want " + string(bracket))
		return false
	}
	if l.depth++; l.depth > maxDepth {
		l.fail("too deep")
		return false
	}
	l.pos++
	if l.peek() != closing(bracket) {
		return l.err == nil
	}
	l.pos++
	l.depth--
	return false
}

// next follows an element and reports whether another one comes.
func (l *lexer) next(bracket byte) bool {
	switch l.peek() {
	case ',':
		l.pos++
		return l.err == nil
	case closing(bracket):
		l.pos++
		l.depth--
	default:
		l.fail("want , or " + string(closing(bracket)))
	}
	return false
}

func closing(bracket byte) byte { return bracket + 2 } // as ASCII has it: '{' 0x7B '}' 0x7D, '[' 0x5B ']' 0x5D

// key takes the name of a member and its colon.
func (l *lexer) key() span {
	if l.peek() != '"' {
		l.fail("want a member name")
		return span{}
	}
	s := l.string()
	if l.peek() != ':' {
		l.fail("want a colon")
		return span{}
	}
	l.pos++
	return s
}

// string takes a string; it must stand on the opening quote.
func (l *lexer) string() span {
	i := l.pos + 1
	s := span{from: i}
	for {
		data := l.data
		for i = pastPlain(data, i); i < len(data); i = pastPlain(data, i) {
			switch c := data[i]; {
			case c == '"':
				s.to, l.pos = i, i+1
				return s
			case c >= 0x80:
				s.coded = true
				i++
			case c == '\\':
				s.coded = true
				if i = l.escape(i); l.err != nil {
					return span{}
				}
				data = l.data
			default:
				l.pos = i
				l.fail("control character in a string")
				return span{}
			}
		}
		if !l.more() {
			return span{}
		}
	}
}

// escape checks the escape sequence at i and returns where it ends.
func (l *lexer) escape(i int) int {
	if !l.have(i + 2) {
		return i
	}
	switch l.data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if !l.have(i + 6) {
			return i
		}
		if _, ok := hex4(l.data[i+2:]); ok {
			return i + 6
		}
	}
	l.pos = i
	l.fail("unknown escape in a string")
	return i
}

// have makes data at least n bytes long.
func (l *lexer) have(n int) bool {
	for len(l.data) < n {
		if !l.more() {
			return false
		}
	}
	return true
}

// scalar takes a number, true, false or null.
func (l *lexer) scalar() {
	switch c := l.peek(); {
	case c == 't':
		l.word("true")
	case c == 'f':
		l.word("false")
	case c == 'n':
		l.word("null")
	case c == '-' || digit(c):
		l.number()
	default:
		l.fail("want a value")
	}
}

func (l *lexer) word(w string) {
	if !l.have(l.pos + len(w)) {
		return
	}
	if string(l.data[l.pos:l.pos+len(w)]) != w {
		l.fail("want " + w)
		return
	}
	l.pos += len(w)
}

// number takes a number by RFC 8259's grammar: no leading zeros, no bare point,
// no plus.
func (l *lexer) number() span {
	s := span{from: l.pos}
	l.accept('-', '-')
	if !l.accept('0', '0') {
		l.digits()
	}
	if l.accept('.', '.') {
		l.digits()
	}
	if l.accept('e', 'E') {
		_ = l.accept('+', '-')
		l.digits()
	}
	s.to = l.pos
	return s
}

// accept takes one byte if it is either of two.
func (l *lexer) accept(a, b byte) bool {
	if !l.have(l.pos + 1) {
		return false
	}
	if c := l.data[l.pos]; c != a && c != b {
		return false
	}
	l.pos++
	return true
}

func (l *lexer) digits() {
	from := l.pos
	for l.have(l.pos+1) && digit(l.data[l.pos]) {
		l.pos++
	}
	if l.pos == from {
		l.fail("want a digit")
	}
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// bytes is the text of a string. It is valid until the lexer moves or decodes
// another.
func (l *lexer) bytes(s span) []byte {
	if !s.coded {
		return l.data[s.from:s.to]
	}
	l.clear = appendUnquoted(l.clear[:0], l.data[s.from:s.to])
	return l.clear
}
