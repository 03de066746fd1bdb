package pipelinerun

import (
	"strings"
	"testing"

	"millrace/crds"
)

// What two values, or a value and the text around it, form together is no variable.
func TestPropagatedValuesFormNoVariableWithWhatIsBesideThem(t *testing.T) {
	for name, c := range map[string]struct{ script, value string }{
		"inside a command substitution": {"$($(params.v))", "params.secret"},
		"after a dollar sign":           {"$$(params.v)", "(params.secret)"},
		"before a parenthesis":          {"$(params.v)(params.secret)", "$"},
		"two values":                    {"$(params.v)$(params.w)", "$"},
	} {
		t.Run(name, func(t *testing.T) {
			run := parse(t, `
metadata: {name: run}
spec:
  params: [{name: v, value: ""}, {name: w, value: "(params.secret)"}]
  pipelineSpec:
    tasks:
    - name: a
      params: [{name: secret, value: hidden}]
      taskSpec: {params: [{name: secret}], steps: [{image: x, script: ""}]}
`)
			run.Spec.Params[0].Value.StringVal = c.value
			run.Spec.PipelineSpec.Tasks[0].TaskSpec.Steps[0].Script = c.script
			w := newWorld(t, run)
			w.reconcile()
			child := w.taskRuns["run-a"].Spec
			if got := child.TaskSpec.Steps[0].Script; got != c.script {
				t.Errorf("%s with %q has become %s", c.script, c.value, got)
			}
			if given := text(child.Params); !strings.Contains(given, text(crds.Param{Name: "v", Value: crds.NewString(c.value)})) {
				t.Errorf("the run is given %s", given)
			}
		})
	}
}
