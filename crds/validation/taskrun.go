package validation

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// TaskRun tells what is wrong with a TaskRun, and with the task that is written in it.
// Such a task need not declare the parameters and workspaces that the run gives.
func TaskRun(run *crds.TaskRun, o Options) (errs field.ErrorList, warnings []string) {
	r := &report{Options: o}
	r.metadata(&run.ObjectMeta)
	r.taskRunSpec(&run.Spec, field.NewPath("spec"))
	r.statusMessage(&run.Spec, field.NewPath("spec"))
	if task := run.Spec.TaskSpec; task != nil {
		at := field.NewPath("spec", "taskSpec")
		s := scopeOf(task)
		r.givenNames(run.Spec.Params, s.params, field.NewPath("spec", "params"))
		s.give(run.Spec.Params, run.Spec.Workspaces)
		s.keepArrays(task.Params)
		r.taskSpec(task, at)
		r.objects(task.Params, at.Child("params"))
		r.taskVariables(task, at, s)
		r.unfitParams(run.Spec.Params, task.Params, at.Child("params"))
	}
	return r.result()
}

// RunningTaskRun tells what is wrong with a TaskRun that is about to run, apart from the
// task that it runs, wherever that is written; see ResolvedTask.
func RunningTaskRun(run *crds.TaskRun, o Options) field.ErrorList {
	o.Strict = true
	r := &report{Options: o}
	r.metadata(&run.ObjectMeta)
	r.taskRunSpec(&run.Spec, field.NewPath("spec"))
	return r.errs
}

// taskRunSpec looks at what a run says itself.
func (r *report) taskRunSpec(spec *crds.TaskRunSpec, at *field.Path) {
	r.taskOfRun(spec, at)
	r.params(spec.Params, at.Child("params"))
	r.workspaceBindings(spec.Workspaces, at.Child("workspaces"))
	if spec.Debug != nil {
		r.forbidden(at.Child("debug"), "breakpoints are not served: leave it out")
	}
	r.stepSpecs(spec.StepSpecs, at.Child("stepSpecs"))
	r.sidecarSpecs(spec.SidecarSpecs, at.Child("sidecarSpecs"))
	if spec.ComputeResources != nil {
		r.resourcesTwice(spec.StepSpecs, at.Child("stepSpecs"))
	}
	r.taskRunStatus(spec, at)
	if spec.Retries < 0 {
		r.invalid(at.Child("retries"), spec.Retries, "it is negative: give how often a failed run is tried again, 0 for never")
	}
	r.timeout(spec.Timeout, at.Child("timeout"))
	r.podTemplate(spec.PodTemplate, at.Child("podTemplate"))
}

func (r *report) taskOfRun(spec *crds.TaskRunSpec, at *field.Path) {
	switch {
	case spec.TaskRef == nil && spec.TaskSpec == nil:
		r.required(at.Child("taskRef"), "say what to run: name a Task here, or write one in taskSpec")
	case spec.TaskRef != nil && spec.TaskSpec != nil:
		r.forbidden(at.Child("taskSpec"), "a run has one task, and this one has taskRef, too: leave one of them")
	}
	if ref := spec.TaskRef; ref != nil {
		r.ref(ref.Name, ref.ResolverRef, at.Child("taskRef"))
		r.taskKind(ref, at.Child("taskRef"))
	}
}

// taskKind: what a Task is only a name of its kind tells; its name becomes the value of a
// label.
func (r *report) taskKind(ref *crds.TaskRef, at *field.Path) {
	if ref.Kind != "" && !strings.EqualFold(ref.Kind, crds.KindTask) && ref.Resolver == "" {
		r.fails(at.Child("kind"), ref.Kind, "a TaskRun executes a Task, and nothing else: write %s, or leave it out", crds.KindTask)
	}
	if len(ref.Name) > maxName {
		r.fails(at.Child("name"), ref.Name, "it becomes the value of a label, which has %d characters at most: choose a shorter name for the Task", maxName)
	}
}

func (r *report) taskRunStatus(spec *crds.TaskRunSpec, at *field.Path) {
	known := []crds.TaskRunSpecStatus{crds.TaskRunSpecStatusCancelled, crds.TaskRunSpecStatusPending}
	if spec.Status != "" && !slices.Contains(known, spec.Status) {
		unsupported(r, at.Child("status"), spec.Status, known)
	}
}

// statusMessage: one about nothing does no harm to a run.
func (r *report) statusMessage(spec *crds.TaskRunSpec, at *field.Path) {
	if spec.Status == "" && spec.StatusMessage != "" {
		r.forbidden(at.Child("statusMessage"), "it is a word about status, which is empty: set that, or leave it out")
	}
}

// timeout looks at how long something may take; 0 is for ever.
func (r *report) timeout(limit *metav1.Duration, at *field.Path) {
	if limit != nil && limit.Duration < 0 {
		r.invalid(at, limit.Duration.String(), "it is negative: give a time such as 90s or 1h30m, or 0 for no limit")
	}
}

func (r *report) stepSpecs(specs []crds.TaskRunStepSpec, at *field.Path) {
	r.overrides(len(specs), func(i int) string { return specs[i].Name }, "step", at)
}

func (r *report) sidecarSpecs(specs []crds.TaskRunSidecarSpec, at *field.Path) {
	r.overrides(len(specs), func(i int) string { return specs[i].Name }, "sidecar", at)
}

// overrides are for a step or a sidecar each, by its name.
func (r *report) overrides(n int, name func(int) string, of string, at *field.Path) {
	seen := make(map[string]bool, n)
	for i := range n {
		switch lower := strings.ToLower(name(i)); {
		case lower == "":
			r.required(at.Index(i).Child("name"), "name the %s that it is for", of)
		case seen[lower]:
			r.invalid(at.Index(i).Child("name"), name(i), "there is one for the %s before, and names that differ in capitals only are one: leave one of them", of)
		default:
			seen[lower] = true
		}
	}
}

// resourcesTwice: what all steps have together says what each has.
func (r *report) resourcesTwice(specs []crds.TaskRunStepSpec, at *field.Path) {
	for i, spec := range specs {
		c := spec.ComputeResources
		if len(c.Limits) > 0 || len(c.Requests) > 0 || len(c.Claims) > 0 {
			r.forbidden(at.Index(i).Child("computeResources"), "the run has computeResources for all steps together: leave out these, or those")
			continue
		}
		r.warn(at.Index(i), "the run has computeResources for all steps together, and this says nothing: leave it out")
	}
}

// podTemplate looks at what a run wants of its pods. What the administrator's own
// template has put there nobody is blamed for.
func (r *report) podTemplate(template *crds.PodTemplate, at *field.Path) {
	if template == nil {
		return
	}
	for i, env := range template.Env {
		if slices.Contains(r.ForbiddenEnv, env.Name) && !r.byDefault(env) {
			r.forbidden(at.Child("env").Index(i).Child("name"), "%s may not be set by a pod template here (default-forbidden-env in the ConfigMap config-defaults): leave it out", env.Name)
		}
	}
}

func (r *report) byDefault(env corev1.EnvVar) bool {
	template := r.Defaults.PodTemplate
	return template != nil && slices.ContainsFunc(template.Env, func(e corev1.EnvVar) bool { return equality.Semantic.DeepEqual(e, env) })
}
