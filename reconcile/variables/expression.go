package variables

import (
	"fmt"

	"millrace/crds/expression"
	"millrace/crds/reference"
)

// Expression replaces the references of an expression so that no value is taken for
// a part of it: within quotes it is text, whatever quotes it has itself; elsewhere
// it can only be a number, true or false.
func (v Set) Expression(s string) (string, error) {
	var out Draft
	var at expression.Place
	for more := true; more; {
		var before, name string
		before, name, s, more = reference.Next(s)
		out.WriteString(before)
		at = at.After(before)
		if !more {
			break
		}
		if err := v.insert(&out, name, at); err != nil {
			return "", err
		}
	}
	return out.Settle(v.Later()), nil
}

// insert writes what the reference of that name stands for at that place.
func (v Set) insert(out *Draft, name string, at expression.Place) error {
	value, known := v.value(name)
	switch {
	case v.AttemptLater && "("+name+")" == LaterAttempt:
		out.Refer(name)
		return nil
	case reference.IsStepResult(name):
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
