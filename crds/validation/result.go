package validation

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
)

// resultName keeps a result, which is a file, from being a path, or two names.
var resultName = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`)

// taskResults looks at what a task leaves.
func (r *report) taskResults(spec *crds.TaskSpec, at *field.Path) {
	steps := stepsOf(spec.Steps)
	for i, result := range spec.Results {
		r.declaredResult(result.Name, result.Type, result.Properties, at.Index(i))
		if result.Value != nil {
			r.resultValue(*result.Value, steps, at.Index(i).Child("value"))
		}
	}
}

// stepResults looks at what a step leaves.
func (r *report) stepResults(results []crds.StepResult, at *field.Path) {
	for i, result := range results {
		r.declaredResult(result.Name, result.Type, result.Properties, at.Index(i))
	}
	twice(results, func(result crds.StepResult) string { return result.Name }, func(i int, name string) {
		r.fails(at.Index(i).Child("name"), name, "another result of the step has the name: choose another")
	})
}

func (r *report) declaredResult(name string, kind crds.ParamType, properties map[string]crds.PropertySpec, at *field.Path) {
	if !resultName.MatchString(name) {
		r.invalid(at.Child("name"), name, "it becomes the name of a file, and can have letters, digits, -, _ and ., with a letter or digit at both ends: choose another")
	}
	if kind != "" && !r.paramType(kind, at.Child("type")) {
		return
	}
	switch {
	case defaulting.ParamType(crds.ParamSpec{Type: kind, Properties: properties}) != crds.ParamTypeObject: // nobody reads them
	case properties == nil:
		r.required(at.Child("properties"), "declare the keys of the object: properties: {<key>: {type: string}}")
	default:
		r.properties(properties, at.Child("properties"))
	}
}

// resultValue is that of a result that a step leaves for the task.
func (r *report) resultValue(value crds.ParamValue, steps steps, at *field.Path) {
	name := ""
	reference.EachOf(value, func(one string) {
		if name == "" && reference.IsStepResult(one) {
			name = one
		}
	})
	step, result, _ := strings.Cut(strings.TrimPrefix(name, "steps."), ".results.")
	result = strings.TrimSuffix(result, "[*]")
	switch {
	case value.Type == crds.ParamTypeArray || value.Type == crds.ParamTypeObject:
		r.invalid(at, field.OmitValueType{}, "it is a text that names the result of a step, also for arrays and objects: write $(steps.<step>.results.<result>)")
	case value.StringVal == "" && !r.Strict:
	case name == "" || len(validation.IsDNS1123Label(step)) > 0 || !resultName.MatchString(result):
		r.invalid(at, value.StringVal, "it is not the result of a step: write $(steps.<step>.results.<result>)")
	case !steps.declare(step, result):
		r.fails(at, value.StringVal, "no step declares such a result: declare it in the results of that step, or correct the name")
	}
}
