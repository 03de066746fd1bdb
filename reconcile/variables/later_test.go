package variables

import (
	"testing"

	"millrace/crds"
)

// What is put in never becomes a reference, and what is a reference stays one,
// whatever stands before it.
func TestReferencesForLaterAndTheirLookAlikes(t *testing.T) {
	v := New()
	v.TakesResults, v.AttemptLater = true, true
	v.SetParams(map[string]crds.ParamValue{
		"sly":    crds.NewString("$(steps.a.results.r)"),
		"slyer":  crds.NewString("$$$(steps.a.results.r)"),
		"half":   crds.NewString("(steps.a.results.r)"),
		"dollar": crds.NewString("$"),
		"number": crds.NewString("$(context.task.retry-count)"),
	})
	const ref = "steps.a.results.r"
	for in, want := range map[string][]Piece{
		"$(steps.a.results.r)":                        {{Ref: ref}},
		"x$(steps.a.results.r)y":                      {{Text: "x"}, {Ref: ref}, {Text: "y"}},
		"$(params.sly)":                               {{Text: "$(steps.a.results.r)"}},
		"$(params.slyer)":                             {{Text: "$$$(steps.a.results.r)"}},
		"$$(params.half)":                             {{Text: "$(steps.a.results.r)"}},
		"$(params.dollar)$(params.half)":              {{Text: "$(steps.a.results.r)"}},
		"$(params.dollar)$(steps.a.results.r)":        {{Text: "$"}, {Ref: ref}},
		"$(params.sly)$(steps.a.results.r)":           {{Text: "$(steps.a.results.r)"}, {Ref: ref}},
		"$(context.task.retry-count)$(params.number)": {{Ref: "context.task.retry-count"}, {Text: "$(context.task.retry-count)"}},
		"$(steps.a.exitCode.path) $(steps":            {{Text: "$(steps.a.exitCode.path) $(steps"}},
	} {
		got := Split(v.Text(in), v.Later())
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
	forms := []string{LaterResult, LaterAttempt}
	f.Fuzz(func(t *testing.T, before, after string) {
		var d Draft
		d.WriteString(before)
		d.Refer("steps.a.results.b")
		d.WriteString(after)
		refs, text := 0, ""
		for _, p := range Split(d.Settle(forms), forms) {
			if p.Ref != "" {
				refs++
				p.Text = "$(" + p.Ref + ")"
			}
			text += p.Text
		}
		if refs != 1 || text != before+"$(steps.a.results.b)"+after {
			t.Errorf("%d references in %q", refs, text)
		}
	})
}
