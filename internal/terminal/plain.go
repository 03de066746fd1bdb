// Package terminal keeps what others have written from steering the terminal that it is
// printed on.
//
//	a name, a message, an answer ──Plain──▶ a terminal: \x1b[2J is read, and clears nothing
//
// Whoever may write the status of a run chooses the names of its tasks and the message of
// its condition. Escape sequences in those could hide lines, and make up others.
//
//  1. What Plain returns has no character in it that is not to be seen, but for those that
//     it was told to keep. (FuzzPlain)
//  2. Text that has none comes back as it is. (FuzzPlain)
//
// It has no goroutine.
package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain is the text with every character that is not to be seen spelled as in Go: control
// characters, those that turn the direction of writing, bytes that are no UTF-8. Those
// in but stay as they are, which is meant for "\n\t".
func Plain(text, but string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		raw := text[i : i+size]
		i += size
		if unicode.IsPrint(r) && !(r == utf8.RuneError && size == 1) || strings.Contains(but, raw) {
			out.WriteString(raw)
			continue
		}
		quoted := strconv.Quote(raw)
		out.WriteString(quoted[1 : len(quoted)-1])
	}
	return out.String()
}
