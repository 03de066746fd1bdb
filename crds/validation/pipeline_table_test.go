package validation

import (
	"path/filepath"
	"strings"
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
		"pipelinerunupdate.txt": saidOfRunUpdate,
		"customrun.txt":         saidOf(CustomRun, func(o Options) func(*crds.CustomRun) { return o.Defaults.CustomRun }),
		"resolutionrequest.txt": saidOf(ResolutionRequest, func(o Options) func(*crds.ResolutionRequest) { return o.Defaults.ResolutionRequest }),
	} {
		t.Run(file, func(t *testing.T) { playTable(t, filepath.Join("testdata", file), say) })
	}
}

func saidOfRunUpdate(t *testing.T, text string) (field.ErrorList, []string) {
	t.Helper()
	before, after, ok := strings.Cut(text, "\n=>\n")
	if !ok {
		t.Fatalf("no => in\n%s", text)
	}
	var old, now crds.PipelineRun
	parse(t, before, &old)
	parse(t, after, &now)
	return PipelineRunUpdate(&now, &old, optionsIn(t, before)), nil
}
