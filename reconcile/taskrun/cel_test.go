package taskrun

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"millrace/crds"
)

// asks is a run with one step under one condition in CEL.
func asks(t *testing.T, expression string, params ...string) *crds.TaskRun {
	t.Helper()
	run := parseRun(t, "taskSpec: {steps: [{name: ask, image: x, script: x, results: [{name: r}]}, {name: go, image: x, script: x, when: [{}]}]}")
	run.Spec.TaskSpec.Steps[1].When[0].CEL = expression
	for i, value := range params {
		run.Spec.Params = append(run.Spec.Params, crds.Param{Name: fmt.Sprintf("p%d", i), Value: crds.NewString(value)})
	}
	return run
}

// decided is what has become of the condition when the pod is made.
func decided(run *crds.TaskRun) string {
	spec, refused := resolve(run, nil, nil, Config{CEL: true})
	if refused == nil {
		spec, refused = forAttempt(run, spec)
	}
	if refused != nil {
		return refused.message
	}
	return spec.Steps[1].When[0].Input
}

func TestExpressionsAreDecided(t *testing.T) {
	for _, c := range []struct {
		expression string
		params     []string
		want       string
	}{
		{"'$(params.p0)' == 'main'", []string{"main"}, "true"},
		{"'$(params.p0)' == 'main'", []string{"dev"}, "false"},
		{"'$(params.p0)'.matches('^release-[0-9]+$')", []string{"release-12"}, "true"},
		{"'$(params.p0)' in ['a', '$(params.p1)']", []string{"b", "b"}, "true"},
		{"$(params.p0) > 3 && $(params.p1)", []string{"4", "true"}, "true"},
		{"'$(context.taskRun.name)'.size() == 3", nil, "true"},
		{"'$(HOME)' == '$' + '(HOME)'", nil, "true"},

		{"x", nil, `step "go": when.cel: at 1:1: undeclared reference to 'x'`},
		{"true &&", nil, `step "go": when.cel: at 1:8: Syntax error: mismatched input '<EOF>' expecting {'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`},
		{"'a'", nil, `step "go": when.cel: it is a string, and must be true or false`},
		{"1/0 == 1", nil, `step "go": when.cel: division by zero`},
		{"'$(params.p9)' == ''", nil, "non-existent variable: [$(params.p9)]: neither does the task declare it nor the run give it"},
		{"'$(steps.ask.results.r)' == 'x'", nil, `step "go" when.cel: $(steps.ask.results.r) is known only when it is the step's turn, and expressions are decided before: write the condition with input, operator and values`},
		{"$(params.p0) == 'main'", []string{"main"}, `step "go" when.cel: $(params.p0) is not within quotes, where its value can only be a number, true or false`},
	} {
		if got := decided(asks(t, c.expression, c.params...)); got != c.want {
			t.Errorf("%s with %q:\n got %s\nwant %s", c.expression, c.params, got, c.want)
		}
	}
}

// What a parameter is given is text, also where it looks like a part of the
// expression: it is what the expression compares it with, and nothing else is true.
func TestValuesInExpressionsAreText(t *testing.T) {
	values := []string{
		`' == '' || '' == '`, `" == "" || "" == "`, `\`, `\'`, `''' || true || '''`, "a\nb", "a\r", "// x", `$(params.p1)`,
		`$(steps.ask.results.r)`, `$(context.task.retry-count)`, "$$(context.task.retry-count)", "ü", "\u2028", `\u0041`, "",
	}
	for _, value := range values {
		for _, quote := range []string{`'`, `"`, `'''`, `"""`, "b'", `r"`, "R'", "br'"} {
			end := strings.TrimLeft(quote, "brR")
			expression := fmt.Sprintf("%s$(params.p0)%s == %s$(params.p1)%s // '", quote, end, quote, end)
			for other, want := range map[string]string{value: "true", value + "x": "false"} {
				for retries := range 2 {
					run := asks(t, expression, value, other)
					run.Spec.Retries = retries
					got := decided(run)
					raw := strings.ContainsAny(quote, "rR") && strings.ContainsAny(value, "'\"\r\n")
					if got != want && !(raw && strings.Contains(got, "is within a raw string")) {
						t.Errorf("%s with %q and %q: %s", expression, value, other, got)
					}
				}
			}
		}
	}
	for _, hostile := range []string{"1 || true", "true\n|| true", "'' == ''", ""} {
		if got := decided(asks(t, "false && $(params.p0) == 1 // $(params.p0)", hostile)); !strings.Contains(got, "is not within quotes") {
			t.Errorf("%q: %s", hostile, got)
		}
	}
	if got := decided(asks(t, `'\$(params.p0)' == ''`, "'")); !strings.Contains(got, "comes after a backslash") {
		t.Error(got)
	}
}

// A task has few expressions, and short ones.
func TestExpressionsAreFewAndShort(t *testing.T) {
	run := asks(t, "true")
	step := &run.Spec.TaskSpec.Steps[1]
	step.When = slices.Repeat(step.When, maxExpressions+1)
	if got := decided(run); got != `step "go": the task has more than 25 conditions in CEL` {
		t.Error(got)
	}
	run = asks(t, "'"+strings.Repeat("$(params.p0)", 1000)+"' == ''", strings.Repeat("x", 10_000))
	if got := decided(run); len(got) > 200 {
		t.Errorf("%.200s", got)
	}
}

// Without Tekton's flag a condition in CEL is refused, as Tekton does.
func TestExpressionsNeedTheFlag(t *testing.T) {
	_, refused := resolve(asks(t, "true"), nil, nil, Config{})
	if got := refusalText(refused); got != `TaskRunValidationFailed: step "go": feature flag enable-cel-in-whenexpression should be set to true to use CEL: true in WhenExpression` {
		t.Error(got)
	}
	run := asks(t, "true")
	run.Spec.TaskSpec.Steps[1].When[0].Input = "x"
	_, refused = resolve(run, nil, nil, Config{CEL: true})
	if got := refusalText(refused); got != `TaskRunValidationFailed: spec.taskSpec.steps[1].when[0].cel: Forbidden: it cannot be together with input, operator and values: leave it out, or those` {
		t.Error(got)
	}
}
