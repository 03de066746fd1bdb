package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// Pipeline says what is wrong with a Pipeline. It declares all that its tasks use, for
// nobody knows yet what a run will give.
func Pipeline(pipeline *crds.Pipeline, o Options) (field.ErrorList, []string) {
	r := &report{Options: o}
	r.metadata(&pipeline.ObjectMeta)
	at := field.NewPath("spec")
	r.pipelineSpec(&pipeline.Spec, at)
	r.pipelineUses(&pipeline.Spec, at)
	return r.result()
}

// PipelineSpec says what is wrong with a pipeline that a run gives itself, or has found.
// What its tasks use and nobody declares is no fault here: the run may give it.
func PipelineSpec(spec *crds.PipelineSpec, at *field.Path, o Options) (field.ErrorList, []string) {
	r := &report{Options: o}
	r.pipelineSpec(spec, at)
	return r.result()
}

func (r *report) pipelineSpec(spec *crds.PipelineSpec, at *field.Path) {
	r.paramTypes(spec.Params, at.Child("params"))
	r.pipelineTasks(spec, at)
	r.graph(spec, at)
	r.pipelineWorkspaces(spec.Workspaces, at.Child("workspaces"))
	r.pipelineResults(spec, at.Child("results"))
}

// pipelineTasks looks at each task by itself.
func (r *report) pipelineTasks(spec *crds.PipelineSpec, at *field.Path) {
	tasks, finally := at.Child("tasks"), at.Child("finally")
	switch {
	case len(spec.Tasks) == 0 && len(spec.Finally) > 0:
		r.required(tasks, "tasks of finally run when others have ended, and there are none: make them tasks")
	case len(spec.Tasks) == 0 && empty(spec):
		r.required(tasks, "a pipeline needs at least one task")
	case len(spec.Tasks) == 0:
		r.fails(tasks, field.OmitValueType{}, "a pipeline needs at least one task")
	}
	names := map[string]bool{}
	for i := range spec.Tasks {
		r.pipelineTask(&spec.Tasks[i], names, tasks.Index(i))
	}
	for i := range spec.Finally {
		t, at := &spec.Finally[i], finally.Index(i)
		r.pipelineTask(t, names, at)
		if len(t.RunAfter) > 0 {
			r.forbidden(at.Child("runAfter"), "tasks of finally begin when all tasks have ended, all at once: leave it out")
		}
	}
	r.lastContexts(spec.Tasks, tasks)
	r.lastContexts(spec.Finally, finally)
}

// empty tells a pipeline that says nothing at all.
func empty(spec *crds.PipelineSpec) bool {
	return spec.DisplayName == "" && spec.Description == "" &&
		len(spec.Params)+len(spec.Tasks)+len(spec.Finally)+len(spec.Workspaces)+len(spec.Results) == 0
}

// pipelineWorkspaces looks at what a pipeline asks for.
func (r *report) pipelineWorkspaces(declared []crds.PipelineWorkspaceDeclaration, at *field.Path) {
	twice(declared, func(w crds.PipelineWorkspaceDeclaration) string { return w.Name }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), name, "the workspace is declared before: leave one declaration")
	})
	for i, w := range declared {
		if w.Name == "" {
			r.required(at.Index(i).Child("name"), "tasks name the workspace by it")
		}
	}
}

// pipelineUses holds the tasks of a Pipeline to what it declares.
func (r *report) pipelineUses(spec *crds.PipelineSpec, at *field.Path) {
	known := &scope{params: paramsOf(spec.Params), workspaces: map[string]bool{}, loose: true}
	for _, w := range spec.Workspaces {
		known.workspaces[w.Name] = true
	}
	r.tasksUse(spec.Tasks, known, at.Child("tasks"))
	r.tasksUse(spec.Finally, known, at.Child("finally"))
	if slices.ContainsFunc(slices.Concat(spec.Tasks, spec.Finally), func(t crds.PipelineTask) bool { return t.TaskSpec != nil }) {
		r.objects(spec.Params, at.Child("params"))
	}
}

func (r *report) tasksUse(tasks []crds.PipelineTask, known *scope, at *field.Path) {
	for i := range tasks {
		t, at := &tasks[i], at.Index(i)
		r.paramUses(t, known, at)
		r.workspaceUses(t.Workspaces, known.workspaces, at.Child("workspaces"))
		if isPlain(*t) {
			r.embeddedUses(t, known, at.Child("taskSpec"))
		}
	}
}

// isPlain tells a task of steps that is written in its pipeline.
func isPlain(t crds.PipelineTask) bool {
	return t.TaskSpec != nil && t.TaskSpec.APIVersion == "" && len(t.TaskSpec.Steps) > 0
}

// embeddedUses holds such a task to what it declares itself, and to what is known beyond.
func (r *report) embeddedUses(t *crds.PipelineTask, known *scope, at *field.Path) {
	s := scopeOf(&t.TaskSpec.TaskSpec)
	s.beyond = known
	for _, w := range t.Workspaces {
		s.workspaces[w.Name] = true
	}
	r.objects(t.TaskSpec.Params, at.Child("params"))
	r.taskVariables(&t.TaskSpec.TaskSpec, at, s)
}
