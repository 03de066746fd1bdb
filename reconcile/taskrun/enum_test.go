package taskrun

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"millrace/crds"
)

func TestEnumsAreChecked(t *testing.T) {
	const task = "taskSpec: {params: [{name: p, %s}], steps: [{image: x, script: x}]}\n"
	flag := Config{ParamEnum: true}
	for _, c := range []struct {
		param, given string
		config       Config
		want         string
	}{
		{"enum: [a, b]", "params: [{name: p, value: a}]", flag, ""},
		{"enum: [a, b], default: b", "", flag, ""},
		{"enum: [a, b]", "params: [{name: p, value: c}]", flag, "InvalidParamValue: param `p` value: c is not in the enum list"},
		{"enum: [a, b]", "params: [{name: p, value: ''}]", flag, "InvalidParamValue: param `p` value:  is not in the enum list"},
		{"enum: [a, b], default: c", "params: [{name: p, value: a}]", flag, `TaskRunValidationFailed: spec.taskSpec.params[0].enum: Invalid value: the default is not among the values: add it, or choose another default`},
		{"enum: [a, b, a]", "params: [{name: p, value: a}]", flag, `TaskRunValidationFailed: spec.taskSpec.params[0].enum[2]: Invalid value: "a": the value is there before: leave one of them`},
		{"enum: [a], type: array", "params: [{name: p, value: [a]}]", flag, `TaskRunValidationFailed: spec.taskSpec.params[0].enum: Forbidden: it is for parameters of type string, and this one is of type array: leave it out`},
		{"enum: [a]", "params: [{name: p, value: a}]", Config{}, `TaskRunValidationFailed: spec.taskSpec.params[0].enum: Forbidden: it needs the feature flag enable-param-enum: set that to "true" in the ConfigMap feature-flags, or leave enum out`},
	} {
		_, refused := resolve(parseRun(t, fmt.Sprintf(task, c.param)+c.given), nil, nil, c.config)
		if got := refusalText(refused); got != c.want {
			t.Errorf("%s, %s:\n got %s\nwant %s", c.param, c.given, got, c.want)
		}
	}
}

// The parameters of a StepAction have such lists too, and a result of a step cannot
// be one of them before the step has run.
func TestEnumsOfStepActionsAreChecked(t *testing.T) {
	for given, want := range map[string]string{
		"a":                      "",
		"$(params.which)":        "",
		"c":                      "TaskRunValidationFailed: step \"act\" and StepAction \"deploy\": param `p` value: c is not in the enum list",
		"$(steps.ask.results.r)": "TaskRunValidationFailed: step \"act\" and StepAction \"deploy\": param `p` has an enum list, and its value $(steps.ask.results.r) is known only when it is the step's turn",
	} {
		run := parseRun(t, "retries: 1\ntaskSpec: {params: [{name: which, default: $(steps.ask.results.r)}], steps: [{name: ask, image: x, script: x, results: [{name: r}]}, {name: act, ref: {name: deploy}, params: [{name: p, value: '"+given+"'}]}]}")
		action := &crds.StepAction{}
		check(yaml.UnmarshalStrict([]byte("metadata: {name: deploy}\nspec: {image: x, params: [{name: p, enum: [a, $(steps.ask.results.r)]}]}"), action))
		_, refused := resolve(run, nil, map[string]actionAnswer{"deploy": {Action: action}}, Config{ParamEnum: true})
		if got := refusalText(refused); got != want {
			t.Errorf("%s:\n got %s\nwant %s", given, got, want)
		}
	}
}

func refusalText(r *refusal) string {
	if r == nil {
		return ""
	}
	return r.Error()
}
