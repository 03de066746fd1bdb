package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/expression"
)

// maxExpressions is how many conditions in CEL a task can have: each takes its time,
// whenever the task is looked at.
const maxExpressions = 25

// maxCompiled is how many bytes of CEL are checked in one object: the worst of them take
// four microseconds each. Of what is more a run finds out.
const maxCompiled = 16 << 10

// when looks at the conditions of a step or of a pipeline's task.
func (r *report) when(conditions crds.WhenExpressions, at *field.Path) {
	expressions := 0
	for i, w := range conditions {
		if w.CEL != "" {
			if expressions++; expressions == maxExpressions+1 {
				r.fails(at.Index(i).Child("cel"), field.OmitValueType{}, "there are more than %d conditions in CEL: put some together with &&", maxExpressions)
			}
			r.cel(w, at.Index(i))
			continue
		}
		if w.Operator != crds.WhenIn && w.Operator != crds.WhenNotIn {
			unsupported(r, at.Index(i).Child("operator"), w.Operator, []crds.WhenOperator{crds.WhenIn, crds.WhenNotIn})
		}
		if len(w.Values) == 0 {
			r.required(at.Index(i).Child("values"), "give the values to compare the input with")
		}
	}
}

func (r *report) cel(w crds.WhenExpression, at *field.Path) {
	switch {
	case !r.CEL:
		r.forbidden(at.Child("cel"), "it needs the feature flag enable-cel-in-whenexpression: set that to \"true\" in the ConfigMap feature-flags, or write input, operator and values")
	case w.Input != "" || w.Operator != "" || len(w.Values) > 0:
		r.forbidden(at.Child("cel"), "it cannot be together with input, operator and values: leave it out, or those")
	case r.resolved:
		return
	case r.compiled+len(w.CEL) > maxCompiled:
		r.warn(at.Child("cel"), "it is not checked: there are more than %d KiB of CEL before it", maxCompiled>>10)
	default:
		r.compiled += len(w.CEL)
		if err := expression.Check(w.CEL); err != nil {
			r.invalid(at.Child("cel"), field.OmitValueType{}, "it is no expression in CEL, %v: correct it; variables are within quotes, '$(params.x)' == 'y'", err)
		}
	}
}
