package taskrun

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/validation"
	"millrace/reconcile/variables"
)

// checkEnums holds a run to the only values that its task accepts for some of its
// parameters. Tekton has this behind a flag, and so has who relies on it; without it
// checkTask refuses the declaration.
func checkEnums(specs crds.ParamSpecs, given crds.Params, c Config) *refusal {
	values := variables.Values(nil, given)
	for _, spec := range specs {
		value, ok := values[spec.Name]
		held := c.ParamEnum && len(spec.Enum) > 0 && defaulting.ParamType(spec) == crds.ParamTypeString
		if held && ok && !slices.Contains(spec.Enum, value.StringVal) {
			return &refusal{crds.TaskRunReasonInvalidParamValue, notInEnum(spec, value.StringVal).Error()}
		}
	}
	return nil
}

func notInEnum(spec crds.ParamSpec, value string) error {
	return fmt.Errorf("param `%s` value: %s is not in the enum list", spec.Name, value)
}

// checkActionEnums does so for a StepAction, whose values are known but for the
// results of steps that they are made of.
func checkActionEnums(specs crds.ParamSpecs, values crds.Params, forms []string, c Config) error {
	if errs := validation.DeclaredParams(specs, field.NewPath("spec", "params"), c.options()); len(errs) > 0 {
		return errs[0]
	}
	given := variables.Values(nil, values)
	for _, spec := range specs {
		if len(spec.Enum) == 0 {
			continue
		}
		value, ok := given[spec.Name]
		if !ok {
			continue
		}
		var text strings.Builder
		for _, p := range variables.Split(value.StringVal, forms) {
			if p.Ref != "" {
				return fmt.Errorf("param `%s` has an enum list, and its value $(%s) is known only when it is the step's turn", spec.Name, p.Ref)
			}
			text.WriteString(p.Text)
		}
		if !slices.Contains(spec.Enum, text.String()) {
			return notInEnum(spec, text.String())
		}
	}
	return nil
}
