package taskrun

import (
	"slices"
	"strconv"

	"millrace/crds"
	"millrace/crds/expression"
	"millrace/reconcile/variables"
)

// A condition of a step may be an expression in CEL. Tekton's entrypoint evaluates
// them; ours, which is in every pod, has 2.7 MB, and a program that does nothing but
// evaluate has 9.5. So they are decided here, before there is a pod. What earlier steps will have found
// out is not known then: an expression that refers to it is refused.

// maxExpressions is how many conditions in CEL a task can have: each takes its time.
const maxExpressions = 25

// forAttempt is the spec as the attempt runs it: with its number in place of the
// reference to that, and with every expression decided.
func forAttempt(run *crds.TaskRun, spec *crds.TaskSpec) (*crds.TaskSpec, *refusal) {
	var err error
	if run.Spec.Retries > 0 {
		if spec, err = variables.Apply(variables.AttemptNumber(strconv.Itoa(attempt(run))), spec); err != nil {
			return nil, invalid("%v", err)
		}
	}
	out := *spec
	out.Steps = slices.Clone(spec.Steps)
	for i, step := range out.Steps {
		if out.Steps[i].When, err = decide(step.When); err != nil {
			return nil, invalid("step %q: when.cel: %v", stepName(step, i), err)
		}
	}
	return &out, nil
}

// decide puts what has come of each expression in its place.
func decide(when crds.WhenExpressions) (crds.WhenExpressions, error) {
	decided := slices.Clone(when)
	for i, w := range when {
		if w.CEL == "" {
			continue
		}
		holds, err := expression.Evaluate(w.CEL)
		if err != nil {
			return nil, err
		}
		decided[i] = crds.WhenExpression{Input: strconv.FormatBool(holds), Operator: crds.WhenIn, Values: []string{"true"}}
	}
	return decided, nil
}

// withoutExpressions are the conditions with nothing in the place of expressions,
// which apply would take for any other text.
func withoutExpressions(when crds.WhenExpressions) crds.WhenExpressions {
	out := slices.Clone(when)
	for i := range out {
		out[i].CEL = ""
	}
	return out
}

// checkExpressions refuses expressions where Tekton would, too.
func checkExpressions(spec *crds.TaskSpec, c Config) *refusal {
	n := 0
	for i, step := range spec.Steps {
		for _, when := range step.When {
			if when.CEL != "" {
				n++
			}
			switch {
			case when.CEL == "":
			case n > maxExpressions:
				return invalid("step %q: the task has more than %d conditions in CEL", stepName(step, i), maxExpressions)
			case !c.CEL:
				return invalid("step %q: feature flag enable-cel-in-whenexpression should be set to true to use CEL: %s in WhenExpression", stepName(step, i), when.CEL)
			}
		}
	}
	return nil
}
