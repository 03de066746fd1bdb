package taskrun

import (
	"strings"
	"testing"

	"millrace/crds"
)

// Each attempt of a run has its own number, in the fields of the task and of a
// StepAction; a value that looks like the reference keeps its looks.
func TestEachAttemptHasItsNumber(t *testing.T) {
	run := parseRun(t, `
retries: 2
params: [{name: sly, value: $(context.task.retry-count)}]
taskSpec:
  steps:
  - {name: own, image: x, script: "$$(params.sly) $(params.sly) $(context.task.retry-count)", args: [$(context.task.retry-count), $(params.sly)]}
  - {name: action, ref: {name: a}, params: [{name: p, value: "$(context.task.retry-count)$(params.sly)"}]}
`)
	action := &crds.StepAction{Spec: crds.StepActionSpec{Image: "x", Script: "$(params.p) $(context.task.retry-count)", Params: crds.ParamSpecs{{Name: "p"}}}}
	spec, refused := resolve(run, nil, map[string]actionAnswer{"a": {Action: action}}, Config{})
	if refused != nil {
		t.Fatal(refused)
	}
	run.Status.RetriesStatus = make([]crds.TaskRunStatus, 2)
	b := blueprint{run: run, spec: spec}
	if _, refused := b.sketch(); refused != nil {
		t.Fatal(refused)
	}
	const literal = "$(context.task.retry-count)"
	if got, want := b.spec.Steps[0].Script, "$"+literal+" "+literal+" 2"; got != want {
		t.Errorf("script %q, want %q", got, want)
	}
	if got, want := strings.Join(b.spec.Steps[0].Args, " "), "2 "+literal; got != want {
		t.Errorf("args %q, want %q", got, want)
	}
	if got, want := b.spec.Steps[1].Script, "2"+literal+" 2"; got != want {
		t.Errorf("script of the action %q, want %q", got, want)
	}
}
