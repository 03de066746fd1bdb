package pipelinerun

import (
	"strings"
	"testing"

	"millrace/crds"
	"millrace/crds/reference"
)

// FuzzReferences: what is found is in the text as it stands, in time; a result that is
// found is one that has a spelling by which its value would be put in.
func FuzzReferences(f *testing.F) {
	for _, seed := range []string{"$(tasks.a.results.r)", `$(tasks.a.results["r"][0])$(tasks.b.results['c'].k)`, "$(tasks.$(tasks.a.status))", "$(tasks.a.matrix..length)", "$(tasks.a.results[\"\"])", "$(tasks.a.results.r[*]))"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		reference.EachTask(in, func(r reference.Task) {
			if !strings.Contains(in, "$("+r.Name+")") {
				t.Errorf("%q does not have %q", in, r.Name)
			}
			if r.Kind != reference.Result {
				return
			}
			if r.Task == "" || r.Result == "" {
				t.Errorf("%q: %+v", in, r)
			}
			d := &decision{}
			d.spec, d.Run = &crds.PipelineSpec{}, &crds.PipelineRun{}
			v := d.variables()
			setResult(v, r.Task, r.Result, crds.NewString("value"))
			after := r.Name[strings.Index(r.Name, r.Result)+len(r.Result):]
			if plain := after == "" || after == `"]` || after == "']"; plain && !v.Known(r.Name) {
				t.Errorf("the result of %q is not put in", r.Name)
			}
		})
	})
}
