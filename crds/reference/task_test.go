package reference

import (
	"slices"
	"testing"
)

func TestOfTask(t *testing.T) {
	for in, want := range map[string][]Task{
		"":                           nil,
		"$(params.x) $(date)":        nil,
		"$(tasks.a.results.r)":       {{Task: "a", Result: "r", Name: "tasks.a.results.r"}},
		"$(tasks.a.results.r[*])":    {{Task: "a", Result: "r", Whole: true, Name: "tasks.a.results.r[*]"}},
		"$(tasks.a.results.r[1])":    {{Task: "a", Result: "r", Name: "tasks.a.results.r[1]"}},
		"$(tasks.a.results.r.key)":   {{Task: "a", Result: "r", Name: "tasks.a.results.r.key"}},
		`$(tasks.a.results["r.s"])`:  {{Task: "a", Result: "r.s", Name: `tasks.a.results["r.s"]`}},
		"$(tasks.a.results['r'][*])": {{Task: "a", Result: "r", Whole: true, Name: "tasks.a.results['r'][*]"}},
		"x$(tasks.a.status)y$(tasks.status)z$(tasks.a.reason)": {
			{Task: "a", Kind: State, Name: "tasks.a.status"}, {Kind: State, Name: "tasks.status"}, {Task: "a", Kind: State, Name: "tasks.a.reason"},
		},
		"$(tasks.a.matrix.length)":       {{Task: "a", Kind: MatrixLength, Name: "tasks.a.matrix.length"}},
		"$(tasks.a.matrix.r.length)":     {{Task: "a", Kind: ResultLength, Result: "r", Name: "tasks.a.matrix.r.length"}},
		"$(tasks.a.outputs)":             {{Task: "a", Kind: Output, Name: "tasks.a.outputs"}},
		"$(tasks.a.results)":             nil,
		"$(tasks.a.results.)":            nil,
		"$(tasks..results.r)":            nil,
		"$(tasks.a)":                     nil,
		"$(tasks.a b.results.r)":         nil,
		"$(echo $(tasks.a.results.r) x)": {{Task: "a", Result: "r", Name: "tasks.a.results.r"}},
		"$(tasks.a.results.r":            nil,
	} {
		var got []Task
		EachTask(in, func(r Task) { got = append(got, r) })
		if !slices.Equal(got, want) {
			t.Errorf("%q has %+v, want %+v", in, got, want)
		}
	}
}
