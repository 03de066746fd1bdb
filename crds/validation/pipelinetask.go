package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// pipelineTask looks at one task, but for what ties it to others. names are those of the
// tasks before it.
func (r *report) pipelineTask(t *crds.PipelineTask, names map[string]bool, at *field.Path) {
	switch {
	case len(validation.IsDNS1123Label(t.Name)) > 0:
		r.invalid(at.Child("name"), t.Name, "a task's name is part of the names of its runs: up to %d lower-case letters, digits and -, with a letter or a digit first and last", maxName)
	case names[t.Name]:
		r.invalid(at.Child("name"), t.Name, "a task before it has that name, and others could not tell them apart: choose another")
	}
	names[t.Name] = true
	r.whatToRun(t, at)
	r.taskOnError(t, at)
	r.when(t.When, at.Child("when"))
	r.taskParams(t.Params, at.Child("params"))
	r.matrix(t, at)
	if t.Retries < 0 {
		r.warn(at.Child("retries"), "it is negative, and means the same as 0: leave it out")
	}
	if t.Timeout != nil && t.Timeout.Duration < 0 {
		r.fails(at.Child("timeout"), t.Timeout.Duration.String(), "it is negative: give it a time, or 0 for no limit")
	}
}

// whatToRun wants exactly one thing to run, and that in order.
func (r *report) whatToRun(t *crds.PipelineTask, at *field.Path) {
	r.alpha(t, at)
	switch given := whatIsGiven(t); len(given) {
	case 0:
		r.required(at.Child("taskRef"), "say what to run: taskRef for a Task of the cluster, or taskSpec for one that is given here")
	case 1:
	default:
		r.forbidden(at.Child(given[1]), "a task runs one thing, and this one has %s: leave one of them", strings.Join(given, " and "))
	}
	if t.TaskRef != nil {
		r.taskRef(t.TaskRef, at.Child("taskRef"))
	}
	if t.TaskSpec != nil {
		r.embedded(t.TaskSpec, at.Child("taskSpec"))
	}
	if t.PipelineRef != nil {
		r.ref(t.PipelineRef.Name, t.PipelineRef.ResolverRef, at.Child("pipelineRef"))
	}
	if t.PipelineSpec != nil {
		r.pipelineSpec(t.PipelineSpec, at.Child("pipelineSpec"))
	}
}

func whatIsGiven(t *crds.PipelineTask) []string {
	var given []string
	for _, one := range []struct {
		name string
		is   bool
	}{
		{"taskRef", t.TaskRef != nil}, {"taskSpec", t.TaskSpec != nil},
		{"pipelineRef", t.PipelineRef != nil}, {"pipelineSpec", t.PipelineSpec != nil},
	} {
		if one.is {
			given = append(given, one.name)
		}
	}
	return given
}

// alpha keeps pipelines from being tasks of others, unless that is allowed.
func (r *report) alpha(t *crds.PipelineTask, at *field.Path) {
	const need = "it needs the feature flag enable-api-fields: set that to \"alpha\" in the ConfigMap feature-flags, or make the tasks of that pipeline tasks of this one"
	if t.PipelineRef != nil && !r.Alpha {
		r.forbidden(at.Child("pipelineRef"), need)
	}
	if t.PipelineSpec != nil && !r.Alpha {
		r.forbidden(at.Child("pipelineSpec"), need)
	}
}

// taskRef looks at the Task to run, or at the custom task: what has an apiVersion, or
// another kind, is somebody else's to run.
func (r *report) taskRef(ref *crds.TaskRef, at *field.Path) {
	switch {
	case ref.Kind == "ClusterTask" && ref.APIVersion == "":
		r.invalid(at.Child("apiVersion"), "", "there are no ClusterTasks any more: make it a Task of a namespace, and refer to it with resolver: cluster")
	case ref.APIVersion != "" || ref.Kind != "" && ref.Kind != crds.KindTask:
		r.customKind(ref.APIVersion, ref.Kind, at)
	default:
		r.ref(ref.Name, ref.ResolverRef, at)
	}
}

// embedded looks at a task that is given in the pipeline.
func (r *report) embedded(t *crds.EmbeddedTask, at *field.Path) {
	if len(t.Steps) > 0 && t.APIVersion != "" {
		r.forbidden(at.Child("apiVersion"), "it is for custom tasks, and this one has steps: leave one of them out")
	}
	if len(t.Steps) > 0 && t.Kind != "" {
		r.forbidden(at.Child("kind"), "it is for custom tasks, and this one has steps: leave one of them out")
	}
	if t.APIVersion != "" || t.Kind != "" && t.Kind != crds.KindTask {
		r.customKind(t.APIVersion, t.Kind, at)
		return
	}
	// The run of the task looks again, if there is one, and fails alone.
	defer func(strict bool) { r.Strict = strict }(r.Strict)
	r.Strict = false
	r.taskSpec(&t.TaskSpec, at)
}

// customKind looks at what a custom-task controller is found by.
func (r *report) customKind(apiVersion, kind string, at *field.Path) {
	group, version, _ := strings.Cut(apiVersion, "/")
	switch {
	case apiVersion == "":
		r.required(at.Child("apiVersion"), "a custom task is found by apiVersion and kind: write group/version, or leave out kind for a Task")
	case group == "" || version == "" || strings.Contains(version, "/"):
		r.invalid(at.Child("apiVersion"), apiVersion, "write group/version, such as example.dev/v1")
	}
	if kind == "" {
		r.required(at.Child("kind"), "a custom task is found by apiVersion and kind: write the kind, or leave out apiVersion for a Task")
	}
}

// taskOnError is what becomes of the pipeline when the task fails.
func (r *report) taskOnError(t *crds.PipelineTask, at *field.Path) {
	at = at.Child("onError")
	known := []crds.PipelineTaskOnErrorType{crds.PipelineTaskContinue, crds.PipelineTaskStopAndFail}
	switch {
	case t.OnError == "":
	case strings.HasPrefix(string(t.OnError), "$(params"): // a run decides
	case !slices.Contains(known, t.OnError):
		r.refuse(field.NotSupported(at, t.OnError, known))
	case t.OnError == crds.PipelineTaskContinue && t.Retries > 0:
		r.forbidden(at, "a failure that is ignored is not tried again: leave out retries, or onError")
	}
}

// taskParams are what a task of a pipeline is given. Capitals count here.
func (r *report) taskParams(given crds.Params, at *field.Path) {
	twice(given, func(p crds.Param) string { return p.Name }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), name, "there is another value for it before: leave one of them")
	})
}
