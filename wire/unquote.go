package wire

import (
	"unicode/utf16"
	"unicode/utf8"
)

// appendUnquoted appends the text that a JSON string stands for. s is what was
// between the quotes and has passed the lexer, so every escape in it is
// complete. Half a surrogate pair, and bytes that are no UTF-8, become U+FFFD:
// that is what every Go decoder of this object will see, so it is what we route
// by.
func appendUnquoted(dst, s []byte) []byte {
	for len(s) > 0 {
		var n int
		switch c := s[0]; {
		case c == '\\' && s[1] == 'u':
			dst, n = appendUnicode(dst, s)
		case c == '\\':
			dst, n = append(dst, unescape(s[1])), 2
		case c < utf8.RuneSelf:
			dst, n = append(dst, c), 1
		default:
			var r rune
			r, n = utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
		}
		s = s[n:]
	}
	return dst
}

// appendUnicode appends the rune of the \u escape, or pair of them, at the
// beginning of s, and says how long that was.
func appendUnicode(dst, s []byte) ([]byte, int) {
	r, _ := hex4(s[2:])
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		low, _ := hex4(s[8:])
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return utf8.AppendRune(dst, pair), 12
		}
	}
	return utf8.AppendRune(dst, utf8.RuneError), 6
}

func unescape(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	default:
		return c
	}
}

// hex4 reads four hexadecimal digits.
func hex4(s []byte) (rune, bool) {
	var r rune
	for _, c := range s[:4] {
		switch {
		case digit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
