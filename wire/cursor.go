package wire

// A cursor walks over the bytes of an Object. They have passed the lexer, so it
// checks nothing and has no error to return.
type cursor struct {
	data []byte
	pos  int
}

// peek passes over white space and returns the byte that follows.
func (c *cursor) peek() byte {
	for c.data[c.pos] <= ' ' {
		c.pos++
	}
	return c.data[c.pos]
}

// enter takes an opening bracket, before which the cursor stands, and says
// whether there is a first element. If there is none, it takes the closing one.
func (c *cursor) enter() bool {
	c.pos++
	if closes(c.peek()) {
		c.pos++
		return false
	}
	return true
}

// next follows an element: it takes a comma, or the closing bracket, and says
// whether there is another element.
func (c *cursor) next() bool {
	last := closes(c.peek())
	c.pos++
	return !last
}

// leave passes over the rest of a list; more says whether there is any.
func (c *cursor) leave(more bool) {
	for more {
		c.value()
		more = c.next()
	}
}

// name takes the name of a member, and its colon. One with escapes or bytes
// beyond ASCII is not taken: it is not plain.
func (c *cursor) name() (name []byte, isPlain bool) {
	c.peek()
	from := c.pos + 1
	to := pastPlain(c.data, from)
	if c.data[to] != '"' {
		return nil, false
	}
	c.pos = to + 1
	c.peek()
	c.pos++
	return c.data[from:to], true
}

// value takes a value and returns its bytes.
func (c *cursor) value() []byte {
	first := c.peek()
	from := c.pos
	switch {
	case first == '"':
		c.pos = pastString(c.data, from+1)
	case opens(first):
		c.pos = pastBracket(c.data, from)
	default:
		for c.pos < len(c.data) && !endsScalar(c.data[c.pos]) {
			c.pos++
		}
	}
	return c.data[from:c.pos]
}

// pastString is behind the closing quote of a string whose text begins at i.
func pastString(data []byte, i int) int {
	for {
		i = pastPlain(data, i)
		switch data[i] {
		case '"':
			return i + 1
		case '\\':
			i += 2
		default:
			i++
		}
	}
}

// pastBracket is behind the bracket that closes the one at i.
func pastBracket(data []byte, i int) int {
	for open := 0; ; {
		c := data[i]
		i++
		switch {
		case c == '"':
			i = pastString(data, i)
		case opens(c):
			open++
		case closes(c):
			if open--; open == 0 {
				return i
			}
		}
	}
}

// opens and closes know { [ and } ], which are one bit apart.
func opens(c byte) bool  { return c|0x20 == '{' }
func closes(c byte) bool { return c|0x20 == '}' }

func endsScalar(c byte) bool { return c <= ' ' || c == ',' || closes(c) }
