package validation

import (
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// See TestTables for what is in them.
func TestTablesOfPipelines(t *testing.T) {
	pipeline := saidOf(Pipeline, func(o Options) func(*crds.Pipeline) { return o.Defaults.Pipeline })
	run := saidOf(PipelineRun, func(o Options) func(*crds.PipelineRun) { return o.Defaults.PipelineRun })
	for file, say := range map[string]func(t *testing.T, text string) (field.ErrorList, []string){
		"pipeline.txt":          pipeline,
		"graph.txt":             pipeline,
		"matrix.txt":            pipeline,
		"when.txt":              pipeline,
		"pipelinevariables.txt": pipeline,
		"pipelinerun.txt":       run,
		"pipelinerunupdate.txt": saidOfUpdate(PipelineRunUpdate),
		"customrun.txt":         saidOf(CustomRun, func(o Options) func(*crds.CustomRun) { return o.Defaults.CustomRun }),
		"resolutionrequest.txt": saidOf(ResolutionRequest, func(o Options) func(*crds.ResolutionRequest) { return o.Defaults.ResolutionRequest }),
	} {
		t.Run(file, func(t *testing.T) { playTable(t, filepath.Join("testdata", file), say) })
	}
}
