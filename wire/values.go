package wire

import (
	"strconv"
	"time"
)

// The methods here take one value of a known kind. null leaves the target as it
// was, save where a doc says otherwise; a value of another kind is passed over
// and noted as a mismatch.

// null takes the word null if it comes next.
func (l *lexer) null() bool {
	if l.peek() != 'n' {
		return false
	}
	l.word("null")
	return true
}

// opens reports whether an object or array comes next, without taking its
// bracket.
func (l *lexer) opens(bracket byte, want string) bool {
	if l.peek() == bracket {
		return true
	}
	l.mismatch(want)
	return false
}

func (l *lexer) text(to *span) {
	switch {
	case l.null():
	case l.peek() == '"':
		*to = l.string()
	default:
		l.mismatch("a string")
	}
}

func (l *lexer) integer(to *int64) {
	if l.null() {
		return
	}
	if c := l.peek(); c != '-' && !digit(c) {
		l.mismatch("a number")
		return
	}
	s := l.number()
	n, err := strconv.ParseInt(string(l.data[s.from:s.to]), 10, 64)
	if err != nil && l.bad == nil {
		l.bad = err
	}
	*to = n
}

// boolean sets to false for null: it stands for an optional flag, and null
// takes the flag away.
func (l *lexer) boolean(to *bool) {
	switch l.peek() {
	case 'n':
		l.word("null")
		*to = false
	case 't':
		l.word("true")
		*to = true
	case 'f':
		l.word("false")
		*to = false
	default:
		l.mismatch("true or false")
	}
}

// timestamp notes whether there is a time; null takes it away.
func (l *lexer) timestamp(to *bool) {
	if l.null() {
		*to = false
		return
	}
	if l.peek() != '"' {
		l.mismatch("a time")
		return
	}
	s := l.string()
	if l.err != nil {
		return
	}
	if _, err := time.Parse(time.RFC3339, string(l.bytes(s))); err != nil && l.bad == nil {
		l.bad = err
	}
	*to = true
}
