package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// Task tells what is wrong with a Task. Nobody but the Task declares its parameters.
func Task(task *crds.Task, o Options) (errs field.ErrorList, warnings []string) {
	r := &report{Options: o}
	at := field.NewPath("spec")
	r.metadata(&task.ObjectMeta)
	r.taskSpec(&task.Spec, at)
	r.objects(task.Spec.Params, at.Child("params"))
	r.taskVariables(&task.Spec, at, scopeOf(&task.Spec))
	return r.result()
}

// ResolvedTask tells what is wrong with a task whose variables have been replaced, and
// that is about to run: what a variable stands for can be as wrong as anything. at is
// where its author wrote it.
func ResolvedTask(spec *crds.TaskSpec, at *field.Path, o Options) field.ErrorList {
	o.Strict = true
	r := &report{Options: o, resolved: true}
	r.taskSpec(spec, at)
	return r.errs
}

// TooMany tells that a task has more steps and sidecars than it can have: for who is about
// to do work that grows with them.
func TooMany(spec *crds.TaskSpec, at *field.Path) field.ErrorList {
	r := &report{Options: Options{Strict: true}}
	r.numbers(spec, at.Child("steps"))
	return r.errs
}

// ReferringStep tells what a step says that refers to a StepAction, and cannot say, since
// the StepAction does.
func ReferringStep(step *crds.Step, at *field.Path, o Options) field.ErrorList {
	r := &report{Options: o}
	r.referringStep(step, at)
	return r.errs
}

// DeclaredParams tells what is wrong with the declaration of parameters.
func DeclaredParams(specs crds.ParamSpecs, at *field.Path, o Options) field.ErrorList {
	r := &report{Options: o}
	r.paramSpecs(specs, at)
	return r.errs
}

// taskSpec looks at a task wherever it is written, apart from its variables.
func (r *report) taskSpec(spec *crds.TaskSpec, at *field.Path) {
	r.steps(spec, at.Child("steps"))
	if spec.StepTemplate != nil {
		r.mounts(spec.StepTemplate.VolumeMounts, at.Child("stepTemplate", "volumeMounts"))
	}
	r.sidecars(spec, at.Child("sidecars"))
	r.volumes(spec.Volumes, at.Child("volumes"))
	r.workspaceDeclarations(spec, at.Child("workspaces"))
	r.paramSpecs(spec.Params, at.Child("params"))
	r.taskResults(spec, at.Child("results"))
}

// taskVariables looks at the references in a task.
func (r *report) taskVariables(spec *crds.TaskSpec, at *field.Path, s *scope) {
	for i := range spec.Steps {
		r.stepVariables(&spec.Steps[i], i, at.Child("steps").Index(i), s)
	}
	other := func(at *field.Path, text string) { r.text(at, text, s, place{step: -1}) }
	r.templateVariables(spec, at.Child("stepTemplate"), s)
	for i := range spec.Sidecars {
		r.sidecarVariables(&spec.Sidecars[i], at.Child("sidecars").Index(i), s)
	}
	texts(spec.Volumes, at.Child("volumes"), other)
	for i, w := range spec.Workspaces {
		r.text(at.Child("workspaces").Index(i).Child("mountPath"), w.MountPath, s, place{step: -1})
	}
}

// templateVariables looks at what steps have from the template. Tekton looks at that for
// results of steps, and for artifacts.
func (r *report) templateVariables(spec *crds.TaskSpec, at *field.Path, s *scope) {
	if spec.StepTemplate == nil {
		return
	}
	later := *spec.StepTemplate
	early := crds.StepTemplate{
		Image: later.Image, WorkingDir: later.WorkingDir, ImagePullPolicy: later.ImagePullPolicy,
		EnvFrom: later.EnvFrom, VolumeMounts: later.VolumeMounts, VolumeDevices: later.VolumeDevices,
	}
	later.Image, later.WorkingDir, later.ImagePullPolicy = "", "", ""
	later.EnvFrom, later.VolumeMounts, later.VolumeDevices = nil, nil, nil
	in := place{step: len(spec.Steps), elements: true, early: true}
	texts(early, at, func(at *field.Path, text string) { r.text(at, text, s, in) })
	in.later = true
	texts(later, at, func(at *field.Path, text string) { r.text(at, text, s, in) })
}

func (r *report) sidecarVariables(sidecar *crds.Sidecar, at *field.Path, s *scope) {
	texts(sidecar, at, func(at *field.Path, text string) { r.text(at, text, s, place{step: -1, elements: true}) })
	r.injection(at.Child("script"), sidecar.Script)
}
