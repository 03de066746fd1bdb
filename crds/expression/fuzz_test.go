package expression

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"millrace/internal/intime"
)

// Whatever a value is, where it may stand it is a value: the expression that it is put
// into is true for it, and nothing that it says is evaluated.
func FuzzLiteral(f *testing.F) {
	for i, seed := range []string{`' == '' || '' == '`, `" || true || "`, `\`, "a\nb\r", `''' || true || '''`, "// x", `\u0041`, "\x00", "1", "true", "-1.5", "1 || true", "{}"} {
		f.Add(seed, i)
	}
	open := []string{`'`, `"`, `'''`, `"""`, `r'`, `r"`, ``}
	f.Fuzz(func(t *testing.T, value string, at int) {
		if !utf8.ValidString(value) || len(value) > maxSize/4 {
			return // JSON brings no other text, and what is long is too long
		}
		quote := open[uint(at)%uint(len(open))]
		literal, err := Place{}.After(quote).Literal(value)
		if err != nil {
			return
		}
		if place := (Place{}).After(quote + literal); quote != "" && place != (Place{}).After(quote) {
			t.Fatalf("%q within %s leads out of it: %q", value, quote, literal)
		}
		if quote == "" {
			if _, err := strconv.ParseFloat(value, 64); err != nil && value != "true" && value != "false" {
				t.Errorf("%q stands outside of quotes", value)
			}
			return
		}
		same := quote + literal + strings.TrimPrefix(quote, "r") + " == " + strconv.Quote(value)
		for _, r := range value {
			if !strconv.IsPrint(r) && r != '\n' && r != '\r' {
				return // Go and CEL write these in different ways
			}
		}
		if holds, err := Evaluate(same); err != nil || !holds {
			t.Errorf("%s: %t, %v", same, holds, err)
		}
	})
}

// An expression is true, or false, or wrong, and soon.
func FuzzEvaluate(f *testing.F) {
	for _, seed := range []string{`'a' == 'b'`, `[1,2].all(x, x > 0)`, `'a'.matches('(a*)*$')`, `{1:{1:{1:1}}} == {}`, `size('x') / 0 == 1`, `(((`, `"\u00e9" in ['é']`, `timestamp('2026-01-01T00:00:00Z') > timestamp('x')`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		var holds bool
		var err error
		intime.Within(t, 10*time.Second, expression, func() { holds, err = Evaluate(expression) })
		if holds && err != nil {
			t.Errorf("%q holds, and %v", expression, err)
		}
		if Check(expression) != nil && err == nil {
			t.Errorf("%q is wrong, and evaluated", expression)
		}
		if again, err2 := Evaluate(expression); again != holds || (err == nil) != (err2 == nil) {
			t.Errorf("%q: %t, %v; and then %t, %v", expression, holds, err, again, err2)
		}
	})
}
