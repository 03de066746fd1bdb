package pipelinerun

import (
	"slices"
	"strings"
	"testing"

	"millrace/crds"
)

func TestReferences(t *testing.T) {
	for in, want := range map[string][]reference{
		"":                           nil,
		"$(params.x) $(date)":        nil,
		"$(tasks.a.results.r)":       {{task: "a", result: "r", name: "tasks.a.results.r"}},
		"$(tasks.a.results.r[*])":    {{task: "a", result: "r", whole: true, name: "tasks.a.results.r[*]"}},
		"$(tasks.a.results.r[1])":    {{task: "a", result: "r", name: "tasks.a.results.r[1]"}},
		"$(tasks.a.results.r.key)":   {{task: "a", result: "r", name: "tasks.a.results.r.key"}},
		`$(tasks.a.results["r.s"])`:  {{task: "a", result: "r.s", name: `tasks.a.results["r.s"]`}},
		"$(tasks.a.results['r'][*])": {{task: "a", result: "r", whole: true, name: "tasks.a.results['r'][*]"}},
		"x$(tasks.a.status)y$(tasks.status)z$(tasks.a.reason)": {
			{task: "a", kind: refState, name: "tasks.a.status"}, {kind: refState, name: "tasks.status"}, {task: "a", kind: refState, name: "tasks.a.reason"},
		},
		"$(tasks.a.matrix.length)":       {{task: "a", kind: refMatrixLength, name: "tasks.a.matrix.length"}},
		"$(tasks.a.matrix.r.length)":     {{task: "a", kind: refResultLength, result: "r", name: "tasks.a.matrix.r.length"}},
		"$(tasks.a.outputs)":             {{task: "a", kind: refOutput, name: "tasks.a.outputs"}},
		"$(tasks.a.results)":             nil,
		"$(tasks.a.results.)":            nil,
		"$(tasks..results.r)":            nil,
		"$(tasks.a)":                     nil,
		"$(tasks.a b.results.r)":         nil,
		"$(echo $(tasks.a.results.r) x)": {{task: "a", result: "r", name: "tasks.a.results.r"}},
		"$(tasks.a.results.r":            nil,
	} {
		var got []reference
		references(in, func(r reference) { got = append(got, r) })
		if !slices.Equal(got, want) {
			t.Errorf("%q has %+v, want %+v", in, got, want)
		}
	}
}

// FuzzReferences: what is found is in the text as it stands, in time; a result that is
// found is one that has a spelling by which its value would be put in.
func FuzzReferences(f *testing.F) {
	for _, seed := range []string{"$(tasks.a.results.r)", `$(tasks.a.results["r"][0])$(tasks.b.results['c'].k)`, "$(tasks.$(tasks.a.status))", "$(tasks.a.matrix..length)", "$(tasks.a.results[\"\"])", "$(tasks.a.results.r[*]))"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		references(in, func(r reference) {
			if !strings.Contains(in, "$("+r.name+")") {
				t.Errorf("%q does not have %q", in, r.name)
			}
			if r.kind != refResult {
				return
			}
			if r.task == "" || r.result == "" {
				t.Errorf("%q: %+v", in, r)
			}
			d := &decision{}
			d.spec, d.Run = &crds.PipelineSpec{}, &crds.PipelineRun{}
			v := d.variables()
			setResult(v, r.task, r.result, crds.NewString("value"))
			after := r.name[strings.Index(r.name, r.result)+len(r.result):]
			if plain := after == "" || after == `"]` || after == "']"; plain && !v.Known(r.name) {
				t.Errorf("the result of %q is not put in", r.name)
			}
		})
	})
}
