package taskrun

import (
	"strings"
	"testing"

	"millrace/crds"
)

// What is put in never becomes a reference, and what is a reference stays one,
// whatever stands before it.
func TestReferencesForLaterAndTheirLookAlikes(t *testing.T) {
	v := newVariables()
	v.takesResults, v.attemptLater = true, true
	v.setParams(map[string]crds.ParamValue{
		"sly":    crds.NewString("$(steps.a.results.r)"),
		"slyer":  crds.NewString("$$$(steps.a.results.r)"),
		"half":   crds.NewString("(steps.a.results.r)"),
		"dollar": crds.NewString("$"),
		"number": crds.NewString("$(context.task.retry-count)"),
	})
	const ref = "steps.a.results.r"
	for in, want := range map[string][]piece{
		"$(steps.a.results.r)":                        {{ref: ref}},
		"x$(steps.a.results.r)y":                      {{text: "x"}, {ref: ref}, {text: "y"}},
		"$(params.sly)":                               {{text: "$(steps.a.results.r)"}},
		"$(params.slyer)":                             {{text: "$$$(steps.a.results.r)"}},
		"$$(params.half)":                             {{text: "$(steps.a.results.r)"}},
		"$(params.dollar)$(params.half)":              {{text: "$(steps.a.results.r)"}},
		"$(params.dollar)$(steps.a.results.r)":        {{text: "$"}, {ref: ref}},
		"$(params.sly)$(steps.a.results.r)":           {{text: "$(steps.a.results.r)"}, {ref: ref}},
		"$(context.task.retry-count)$(params.number)": {{ref: "context.task.retry-count"}, {text: "$(context.task.retry-count)"}},
		"$(steps.a.exitCode.path) $(steps":            {{text: "$(steps.a.exitCode.path) $(steps"}},
	} {
		got := split(v.text(in), v.later())
		if len(got) != len(want) {
			t.Errorf("%q became %q, want %q", in, got, want)
			continue
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%q became %q, want %q", in, got, want)
			}
		}
	}
}

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

// FuzzLater: whatever stands around, what settle wrote split takes apart again,
// and finds exactly the references that were made.
func FuzzLater(f *testing.F) {
	for _, seed := range []string{"", "$", "$$(steps.", "(steps.a.results.b)", "$(steps.$(steps.", "$(context.task.retry-count)$$"} {
		f.Add(seed, seed)
	}
	forms := []string{laterResult, laterAttempt}
	f.Fuzz(func(t *testing.T, before, after string) {
		var d draft
		d.WriteString(before)
		d.refer("steps.a.results.b")
		d.WriteString(after)
		refs, text := 0, ""
		for _, p := range split(d.settle(forms), forms) {
			if p.ref != "" {
				refs++
				p.text = "$(" + p.ref + ")"
			}
			text += p.text
		}
		if refs != 1 || text != before+"$(steps.a.results.b)"+after {
			t.Errorf("%d references in %q", refs, text)
		}
	})
}
