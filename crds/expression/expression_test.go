package expression

import (
	"strconv"
	"strings"
	"testing"
)

// What Literal writes is, to whoever reads the expression, the value and nothing else.
func TestALiteralIsItsValue(t *testing.T) {
	values := []string{`' == '' || '' == '`, `" || true || "`, `\`, `\'`, `''' || true || '''`, "a\nb", "\r", "// x", "ü", `\u0041`, ""}
	for _, value := range values {
		for _, quote := range []string{`'`, `"`, `'''`, `"""`, "b'"} {
			end := strings.TrimLeft(quote, "b")
			literal, err := Place{}.After(quote).Literal(value)
			if err != nil {
				t.Fatal(err)
			}
			same := quote + literal + end + " == " + strings.TrimSuffix(quote, end) + strconv.Quote(value)
			if holds, err := Evaluate(same); err != nil || !holds {
				t.Errorf("%q in %s is %s: %v, %v", value, quote, same, holds, err)
			}
		}
	}
	for place, value := range map[string]string{"": "1 || true", "r'": "'", "x //": "\n", `'\`: "n"} {
		if literal, err := (Place{}).After(place).Literal(value); err == nil {
			t.Errorf("after %q it is %q", place, literal)
		}
	}
}

// An expression that would take for ever does not: not to read, not to evaluate.
func TestAnExpressionHasAnEnd(t *testing.T) {
	numbers := "[" + strings.TrimSuffix(strings.Repeat("1,", 500), ",") + "]"
	for expression, want := range map[string]string{
		numbers + ".all(a, " + numbers + ".all(b, " + numbers + ".all(c, a + b + c == 3)))":    "actual cost limit exceeded",
		"'" + strings.Repeat("x", maxSize) + "' == ''":                                         "expression code point size exceeds limit",
		strings.Repeat("(", 2000) + "true" + strings.Repeat(")", 2000):                         "expression recursion limit exceeded",
		strings.Repeat("[", 2000) + "1" + strings.Repeat("]", 2000) + " == [1]":                "expression recursion limit exceeded",
		"'" + strings.Repeat("a", 2000) + "'.matches('" + strings.Repeat("(a*)*", 400) + "$')": "actual cost limit exceeded",
		strings.Repeat("{1:", 100) + "1" + strings.Repeat("}", 100) + " == {1: 1}":             "expression recursion limit exceeded",
	} {
		if _, err := Evaluate(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", expression, err)
		}
	}
}

// Check finds before a run what Evaluate would in it, but for what depends on values.
func TestCheck(t *testing.T) {
	for expression, want := range map[string]string{
		"'$(params.x)' == 'x'": "",
		"1 / 0 == 1":           "", // evaluation tells
		"$(params.x) == 'x'":   "at 1:1: Syntax error",
		"params.x == 'x'":      "at 1:1: undeclared reference",
		"'x' ==":               "at 1:7: Syntax error",
	} {
		err := Check(expression)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", expression, err)
		}
	}
}

// What becomes of an expression costs what it may cost: see maxCost.
func BenchmarkEvaluate(b *testing.B) {
	for b.Loop() {
		if _, err := Evaluate("'release-12'.matches('^release-[0-9]+$') && 'a' in ['a', 'b']"); err != nil {
			b.Fatal(err)
		}
	}
}
