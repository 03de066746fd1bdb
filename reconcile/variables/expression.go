package variables

import (
	"fmt"
	"strings"

	"millrace/reconcile/expression"
)

// Expression replaces the references of an expression so that no value is taken for
// a part of it: within quotes it is text, whatever quotes it has itself; elsewhere
// it can only be a number, true or false. It finds them as Text does.
func (v Set) Expression(s string) (string, error) {
	var out Draft
	var at expression.Place
	rest := s
	for {
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			break
		}
		start := strings.LastIndex(rest[:end], "$(")
		if start < 0 {
			start = end + 1
		}
		out.WriteString(rest[:start])
		at = at.After(rest[:start])
		if start < end {
			if err := v.insert(&out, rest[start+2:end], at); err != nil {
				return "", err
			}
		}
		rest = rest[end+1:]
	}
	out.WriteString(rest)
	return out.Settle(v.Later()), nil
}

// insert writes what the reference of that name stands for at that place.
func (v Set) insert(out *Draft, name string, at expression.Place) error {
	value, known := v.value(name)
	switch {
	case v.AttemptLater && "("+name+")" == LaterAttempt:
		out.Refer(name)
		return nil
	case IsStepResult(name):
		return fmt.Errorf("when.cel: $(%s) is known only when it is the step's turn, and expressions are decided before: write the condition with input, operator and values", name)
	case !known:
		v.note(name)
		out.WriteString("$(" + name + ")")
		return nil
	}
	literal, err := at.Literal(value)
	if err != nil {
		return fmt.Errorf("when.cel: $(%s) %w", name, err)
	}
	if v.Budget.Afford(len(literal)) {
		out.WriteString(literal)
	}
	return nil
}
