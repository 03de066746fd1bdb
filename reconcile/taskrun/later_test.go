package taskrun

import (
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
