package pipelinerun

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/internal/verdicts"
)

// What admission refuses ends when it comes here all the same, before anything is made;
// what it warns of, that the run will fail, comes true; and what it accepts begins. The
// objects, and what is said of them, are admission's own tables.
func TestAdmissionAndTheRunAgree(t *testing.T) {
	verdicts.Play(t, []string{"pipeline", "graph", "matrix", "when", "pipelinevariables", "pipelinerun"}, map[string]string{
		"# It does not take one of both, as Tekton has it.":      "a run can do it",
		"# Tekton takes no text before the first reference.":     "a run can do it",
		"# It uses nothing else, and arrays only as arguments.":  "the runs of the task find out",
		"# Some variables are not for pod templates.":            "the runs of the tasks find out",
		"# An index beyond the end is found by the run.":         "the run finds out",
		"# What the pipeline wants and does not get is told of.": "here it gets all that it wants",
		"# For instance here.":                                   "the runs of the task find out",
		"# Tekton looks for no array of the pipeline":            "the runs of the task find out",
		"# An object has keys, also beside a custom task.":       "a run can do it",
		"# Beside a task of steps all parameters are named":      "a run can do it",
	}, playVerdict)
}

func playVerdict(t *testing.T, text string, verdict verdicts.Verdict) {
	t.Helper()
	run, config := runOf(t, text)
	w := newWorld(t, run)
	w.config = config
	w.pipeline = &crds.Pipeline{Spec: crds.PipelineSpec{Tasks: []crds.PipelineTask{{Name: "a", TaskRef: &crds.TaskRef{Name: "t"}}}}}
	w.pipeline.Name = "p"
	w.tasks = map[string]*crds.TaskSpec{"t": {Results: []crds.TaskResult{{Name: "r"}, {Name: "s"}}, Steps: []crds.Step{{Image: "x"}}}}
	w.reconcile()
	failed := w.run.IsDone() && w.run.IsFailed()
	if failed != (verdict != verdicts.Begins) || failed && len(w.created) > 0 {
		t.Errorf("admission says that it is to be %s, and after a reconcile there are %v, and it is %s\n%s", verdict, w.created, w.run.Succeeded().Message, text)
	}
}

// runOf is the run of a table, or one of its pipeline that gives all that this wants.
func runOf(t *testing.T, text string) (*crds.PipelineRun, Config) {
	t.Helper()
	var in struct {
		Options struct{ CEL, ParamEnum, Alpha bool }
	}
	run, pipeline := &crds.PipelineRun{}, &crds.Pipeline{}
	for _, into := range []any{&in, run, pipeline} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if run.Spec.PipelineRef == nil && run.Spec.PipelineSpec == nil && !strings.Contains(text, "A run says what to run") {
		run.Spec = crds.PipelineRunSpec{PipelineSpec: &pipeline.Spec}
		run.ObjectMeta = pipeline.ObjectMeta
	}
	if spec := run.Spec.PipelineSpec; spec != nil {
		provide(run, spec)
	}
	if run.Name == "" {
		run.Name = "run"
	}
	return run, Config{CEL: in.Options.CEL, Alpha: in.Options.Alpha, ParamEnum: in.Options.ParamEnum}
}

func provide(run *crds.PipelineRun, spec *crds.PipelineSpec) {
	given := map[string]bool{}
	for _, p := range run.Spec.Params {
		given[p.Name] = true
	}
	for _, p := range spec.Params {
		value := crds.NewString("x")
		switch defaulting.ParamType(p) {
		case crds.ParamTypeArray:
			value = crds.NewArray("x", "y", "z", "u")
		case crds.ParamTypeObject:
			value = crds.NewObject(map[string]string{"k": "x"})
		case crds.ParamTypeString:
		}
		if !given[p.Name] && p.Default == nil {
			given[p.Name] = true
			run.Spec.Params = append(run.Spec.Params, crds.Param{Name: p.Name, Value: value})
		}
	}
	bound := map[string]bool{}
	for _, w := range run.Spec.Workspaces {
		bound[w.Name] = true
	}
	for _, w := range spec.Workspaces {
		if !bound[w.Name] {
			bound[w.Name] = true
			run.Spec.Workspaces = append(run.Spec.Workspaces, crds.WorkspaceBinding{Name: w.Name, EmptyDir: &corev1.EmptyDirVolumeSource{}})
		}
	}
}
