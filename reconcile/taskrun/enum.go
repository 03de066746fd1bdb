package taskrun

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// checkEnums holds a run to the only values that its task accepts for some of its
// parameters. Tekton has this behind a flag, and so has who relies on it.
func checkEnums(specs crds.ParamSpecs, given crds.Params, c Config) *refusal {
	values := variables.Values(nil, given)
	for _, spec := range specs {
		if len(spec.Enum) == 0 {
			continue
		}
		if err := checkEnum(spec, c); err != nil {
			return invalid("params[%s]: %v", spec.Name, err)
		}
		if value, ok := values[spec.Name]; ok && !slices.Contains(spec.Enum, value.StringVal) {
			return &refusal{crds.TaskRunReasonInvalidParamValue, notInEnum(spec, value.StringVal).Error()}
		}
	}
	return nil
}

func notInEnum(spec crds.ParamSpec, value string) error {
	return fmt.Errorf("param `%s` value: %s is not in the enum list", spec.Name, value)
}

// checkEnum finds what is wrong with the declaration itself.
func checkEnum(spec crds.ParamSpec, c Config) error {
	sorted := slices.Sorted(slices.Values(spec.Enum))
	switch {
	case !c.ParamEnum:
		return errors.New("feature flag `enable-param-enum` should be set to true to use Enum")
	case variables.TypeOf(spec) != crds.ParamTypeString:
		return errors.New("enum can only be set with string type param")
	case len(slices.Compact(sorted)) < len(spec.Enum):
		return fmt.Errorf("a value appears more than once in the enum list %v", spec.Enum)
	case spec.Default != nil && !slices.Contains(spec.Enum, spec.Default.StringVal):
		return fmt.Errorf("param default value %s not in the enum list", spec.Default.StringVal)
	default:
		return nil
	}
}

// checkActionEnums does so for a StepAction, whose values are known but for the
// results of steps that they are made of.
func checkActionEnums(specs crds.ParamSpecs, values crds.Params, forms []string, c Config) error {
	given := variables.Values(nil, values)
	for _, spec := range specs {
		if len(spec.Enum) == 0 {
			continue
		}
		if err := checkEnum(spec, c); err != nil {
			return fmt.Errorf("params[%s]: %w", spec.Name, err)
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
