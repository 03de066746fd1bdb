package variables

import (
	"slices"
	"strings"
)

// Two references stay in the text that is written down, as their author wrote
// them, because their values come later: the result of an earlier step, which the
// entrypoint reads when it is the step's turn, and the number of the attempt,
// which the pod of each attempt is made with.
//
// A parameter's value can look like one of them and must not become one. So the
// dollar signs before such a name tell which is which: n of them before a
// reference are written as 2n-1, before a look-alike as 2n. One before a reference
// stays one; and in args and env, where Kubernetes lets $$ stand for $, the kubelet
// itself turns the others back.
const (
	LaterResult  = "(steps."
	LaterAttempt = "(context.task.retry-count)"
)

// A Piece of a text is either text or the name of a reference.
type Piece struct {
	Text string
	Ref  string
}

// A Draft is a text in the making, which knows its references from look-alikes.
type Draft struct {
	strings.Builder
	marks []int // where the "(" of each reference is, in their order
}

func (d *Draft) isMark(at int) bool {
	_, found := slices.BinarySearch(d.marks, at)
	return found
}

// Refer writes a reference that is replaced later.
func (d *Draft) Refer(name string) {
	d.WriteByte('$')
	d.marks = append(d.marks, d.Len())
	d.WriteString("(" + name + ")")
}

// Settle is the text of the Draft with the dollar signs of those forms written out.
func (d *Draft) Settle(forms []string) string {
	text := d.String()
	var out strings.Builder
	from := 0
	each(text, forms, func(at, dollars int) {
		out.WriteString(text[from:at])
		more := dollars
		if d.isMark(at) {
			more--
		}
		out.WriteString(strings.Repeat("$", more))
		from = at
	})
	if from == 0 {
		return text
	}
	out.WriteString(text[from:])
	return out.String()
}

// each calls found for every "(" that begins one of the forms and has dollar
// signs before it.
func each(text string, forms []string, found func(at, dollars int)) {
	for at := 0; len(forms) > 0; at++ {
		next := strings.IndexByte(text[at:], '(')
		if next < 0 {
			return
		}
		at += next
		dollars := at - len(strings.TrimRight(text[:at], "$"))
		if dollars > 0 && slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(text[at:], form) }) {
			found(at, dollars)
		}
	}
}

// Split takes apart what Settle has written. The dollar signs of look-alikes, and
// those before references, are the original ones again.
func Split(text string, forms []string) []Piece {
	return cut(text, forms, func(dollars int) int { return dollars / 2 })
}

// SplitForKubelet leaves the dollar signs as they are, for the kubelet to halve.
func SplitForKubelet(text string, forms []string) []Piece {
	return cut(text, forms, func(dollars int) int { return dollars })
}

func cut(text string, forms []string, keep func(dollars int) int) []Piece {
	var pieces []Piece
	var literal strings.Builder
	from := 0
	each(text, forms, func(at, dollars int) {
		if at-dollars < from { // inside a reference
			return
		}
		literal.WriteString(text[from : at-dollars])
		from = at
		end := strings.IndexByte(text[at:], ')')
		if dollars%2 == 0 || end < 0 {
			literal.WriteString(strings.Repeat("$", keep(dollars)))
			return
		}
		literal.WriteString(strings.Repeat("$", keep(dollars-1)))
		pieces = append(appendText(pieces, literal.String()), Piece{Ref: text[at+1 : at+end]})
		literal.Reset()
		from = at + end + 1
	})
	literal.WriteString(text[from:])
	return appendText(pieces, literal.String())
}

func appendText(pieces []Piece, text string) []Piece {
	if text == "" {
		return pieces
	}
	return append(pieces, Piece{Text: text})
}

// RefersLater tells whether a text holds a reference to a step's result.
func RefersLater(text string) bool {
	return slices.ContainsFunc(SplitForKubelet(text, []string{LaterResult}), func(p Piece) bool { return p.Ref != "" })
}

// AttemptNumber replaces what was left for each attempt to replace.
type AttemptNumber string

// Text replaces the number.
func (n AttemptNumber) Text(s string) string {
	if !strings.Contains(s, LaterAttempt) {
		return s
	}
	var out strings.Builder
	for _, p := range Split(s, []string{LaterAttempt}) {
		if p.Ref != "" {
			out.WriteString(string(n))
		}
		out.WriteString(p.Text)
	}
	return out.String()
}

// Elements replaces it in one element.
func (n AttemptNumber) Elements(s string) []string { return []string{n.Text(s)} }

// In is n: the number is the same everywhere.
func (n AttemptNumber) In(string) Replacer { return n }

// Overspent is nil.
func (n AttemptNumber) Overspent() error { return nil } // a number is shorter than its reference
