package validation

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
)

// FuzzPipeline: whatever decodes is judged, in time; defaults are filled in once, and
// refuse nothing. What a run finds wrong with it, nobody else finds right.
func FuzzPipeline(f *testing.F) {
	for _, file := range []string{"pipeline.txt", "graph.txt", "matrix.txt", "when.txt", "pipelinevariables.txt"} {
		seed(f, file)
	}
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := Options{Strict: strict, Alpha: strict, ParamEnum: strict, CEL: strict}
		pipeline, ok := judged(t, raw, Pipeline, o, o.Defaults.Pipeline)
		if !ok {
			return
		}
		own, _ := PipelineSpec(&pipeline.Spec, field.NewPath("spec"), o)
		all, _ := Pipeline(&pipeline, o)
		if len(own) > 0 && len(all) == 0 {
			t.Errorf("a run says %v, and nobody else says anything", own)
		}
	})
}

// FuzzPipelineRun: so it is with a PipelineRun; its defaults change nothing in the eyes
// of an update.
func FuzzPipelineRun(f *testing.F) {
	seed(f, "pipelinerun.txt")
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := Options{Strict: strict, Alpha: strict, ParamEnum: strict, CEL: strict, ForbiddenEnv: []string{"X"}}
		o.Defaults = defaulting.Defaults{PodTemplate: &crds.PodTemplate{HostNetwork: true}, Resolver: "git"}
		run, ok := judged(t, raw, PipelineRun, o, o.Defaults.PipelineRun)
		if !ok {
			return
		}
		if said := printed(RunningPipelineRun(&run, o), nil); strings.Contains(said, "spec.pipelineSpec.") {
			t.Errorf("what only looks at the run says %s", said)
		}
		var plain crds.PipelineRun
		_ = json.Unmarshal(raw, &plain)
		if errs := PipelineRunUpdate(&run, &plain, o); len(errs) > 0 {
			t.Errorf("defaults are a change: %v", errs)
		}
	})
}

// FuzzCustomRun: and with a CustomRun.
func FuzzCustomRun(f *testing.F) {
	seed(f, "customrun.txt")
	f.Fuzz(func(t *testing.T, raw []byte, strict bool) {
		o := Options{Strict: strict}
		judged(t, raw, CustomRun, o, o.Defaults.CustomRun)
	})
}
