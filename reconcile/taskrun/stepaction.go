package taskrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
	"millrace/reconcile/variables"
)

// actionAnswer is what became of the look for a StepAction.
type actionAnswer struct {
	Action *crds.StepAction
	None   error // why there is none, for good
}

// actionNames are the StepActions that the steps of a task refer to, each once.
func actionNames(spec *crds.TaskSpec) []string {
	var names []string
	for _, step := range spec.Steps {
		if step.Ref != nil && step.Ref.Name != "" {
			names = appendOnce(names, step.Ref.Name)
		}
	}
	return names
}

// inline puts into a step what its StepAction runs, with the parameters of the
// action replaced by what the step gives for them. values are those of step.Params
// after the variables of the task have been replaced in them; v are the variables
// that a StepAction shares with its task, and no parameters.
func inline(step crds.Step, action *crds.StepAction, values crds.Params, v variables.Set) (crds.Step, error) {
	if err := checkAction(action); err != nil {
		return step, err
	}
	v, err := ofAction(v, action.Spec.Params, values)
	if err != nil {
		return step, fmt.Errorf("and StepAction %q: %w", action.Name, err)
	}
	body, err := variables.Apply(v, bodyOf(action.Spec))
	if err != nil {
		return step, err
	}
	step.Ref, step.Params = nil, nil
	step.Image, step.Command, step.Args, step.Script = body.Image, body.Command, body.Args, body.Script
	step.Env, step.VolumeMounts = body.Env, body.VolumeMounts
	step.WorkingDir = body.WorkingDir
	step.Results = body.Results
	if body.SecurityContext != nil {
		step.SecurityContext = body.SecurityContext
	}
	return step, nil
}

func bodyOf(spec crds.StepActionSpec) crds.Step {
	return crds.Step{
		Image: spec.Image, Command: spec.Command, Args: spec.Args, Env: spec.Env, Script: spec.Script,
		WorkingDir: spec.WorkingDir, Results: spec.Results, SecurityContext: spec.SecurityContext, VolumeMounts: spec.VolumeMounts,
	}
}

// checkAction finds what its author has not said, or said twice: a StepAction that no
// webhook has seen.
func checkAction(action *crds.StepAction) error {
	switch {
	case action.Spec.Image == "":
		return fmt.Errorf("refers to StepAction %q, which has no image", action.Name)
	case action.Spec.Script != "" && len(action.Spec.Command) > 0:
		return fmt.Errorf("refers to StepAction %q, which has both a script and a command", action.Name)
	default:
		return nil
	}
}

// ofAction are the variables of a StepAction: v with the action's parameters.
func ofAction(v variables.Set, specs crds.ParamSpecs, given crds.Params) (variables.Set, error) {
	v.Strings, v.Arrays = maps.Clone(v.Strings), map[string][]string{}
	v.Objects, v.Results = map[string]map[string]string{}, map[string]string{}
	v.Encoded = true
	values := map[string]crds.ParamValue{}
	for _, param := range given {
		values[param.Name] = param.Value
	}
	var missing, wrong []string
	for _, spec := range specs {
		value, ok := values[spec.Name]
		delete(values, spec.Name)
		switch {
		case !ok && spec.Default == nil:
			missing = append(missing, spec.Name)
		case !setActionParam(v, spec, value, ok):
			wrong = append(wrong, spec.Name)
		}
	}
	switch {
	case len(missing) > 0:
		return v, fmt.Errorf("non-existent params in Step: %v", missing)
	case len(wrong) > 0:
		return v, fmt.Errorf("param types don't match the user-specified type: %v", wrong)
	case len(values) > 0:
		return v, fmt.Errorf("extra params passed by Step to StepAction: %v", slices.Sorted(maps.Keys(values)))
	}
	return v, nil
}

// setActionParam makes a parameter known: its default, and the step's value over
// it. An array or an object may be the result of an earlier step. A text for an
// object leaves the defaults of its keys, as in Tekton.
func setActionParam(v variables.Set, spec crds.ParamSpec, value crds.ParamValue, given bool) bool {
	kind := defaulting.ParamType(spec)
	if spec.Default != nil {
		for _, spelling := range reference.Spellings("params", spec.Name) {
			v.SetParam(spelling, plain(*spec.Default))
		}
	}
	if !given {
		return true
	}
	name, whole := reference.Whole(value.StringVal)
	later := value.Type == crds.ParamTypeString && whole && reference.IsStepResult(name) && kind != crds.ParamTypeString
	for _, spelling := range reference.Spellings("params", spec.Name) {
		switch {
		case later:
			delete(v.Arrays, spelling)
			v.Results[spelling] = strings.TrimSuffix(name, "[*]")
		case value.Type == kind || kind == crds.ParamTypeObject && value.Type != crds.ParamTypeArray:
			v.SetParam(spelling, value)
		default:
			return false
		}
	}
	return true
}

// plain is a value in the form of one that has been through settle.
func plain(value crds.ParamValue) crds.ParamValue {
	forms := []string{variables.LaterResult, variables.LaterAttempt}
	write := func(s string) string {
		var out variables.Draft
		out.WriteString(s)
		return out.Settle(forms)
	}
	switch value.Type {
	case crds.ParamTypeArray:
		elements := make([]string, len(value.ArrayVal))
		for i, element := range value.ArrayVal {
			elements[i] = write(element)
		}
		return crds.NewArray(elements...)
	case crds.ParamTypeObject:
		keys := make(map[string]string, len(value.ObjectVal))
		for key, one := range value.ObjectVal {
			keys[key] = write(one)
		}
		return crds.NewObject(keys)
	default:
		return crds.NewString(write(value.StringVal))
	}
}
