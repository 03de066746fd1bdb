package pipelinerun

import (
	"slices"
	"strings"

	"millrace/crds"
	"millrace/crds/expression"
)

// evaluate tells whether the conditions of a task hold, and what they are with the
// values in them.
func (d *decision) evaluate(t *task) (holds bool, shown crds.WhenExpressions, r *refusal) {
	holds = true
	for _, w := range t.When {
		one, err := d.withValues(w)
		if err != nil {
			return false, nil, celFailed(t, err)
		}
		shown = append(shown, one)
		ok, err := allows(one)
		if err != nil {
			return false, nil, celFailed(t, err)
		}
		holds = holds && ok
	}
	return holds, shown, nil
}

func celFailed(t *task, err error) *refusal {
	return refused(crds.PipelineRunReasonCELEvaluationFailed, "error evaluating CEL of pipeline task %q: %v", t.Name, err)
}

// withValues replaces the variables of a condition. An array may stand for several
// values; in an expression every value is text.
func (d *decision) withValues(w crds.WhenExpression) (crds.WhenExpression, error) {
	one := crds.WhenExpression{Input: d.vars.Text(w.Input), Operator: w.Operator}
	for _, value := range w.Values {
		one.Values = append(one.Values, d.vars.Elements(value)...)
	}
	var err error
	one.CEL, err = d.vars.Expression(w.CEL)
	return one, err
}

func allows(w crds.WhenExpression) (bool, error) {
	if w.CEL != "" {
		return expression.Evaluate(w.CEL)
	}
	return slices.Contains(w.Values, w.Input) == strings.EqualFold(string(w.Operator), string(crds.WhenIn)), nil
}
