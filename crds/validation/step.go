package validation

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// MaxContainers is how many steps and sidecars a task can have: so many share 12 KiB of
// termination messages, which is 120 bytes for each.
const MaxContainers = 100

// steps looks at all steps of a task, apart from their variables.
func (r *report) steps(spec *crds.TaskSpec, at *field.Path) {
	workspaces := declaredWorkspaces(spec)
	if len(spec.Steps) == 0 {
		r.required(at, "a task does what its steps do: give it at least one")
	}
	r.numbers(spec, at)
	names := make(map[string]bool, len(spec.Steps))
	for i := range spec.Steps {
		step := &spec.Steps[i]
		r.stepName(step.Name, stepName(*step, i), at.Index(i).Child("name"), names)
		if step.Ref != nil {
			r.referringStep(step, at.Index(i))
		} else {
			r.step(spec, step, at.Index(i))
		}
		r.stepAnyway(spec, step, workspaces, at.Index(i))
	}
}

func (r *report) numbers(spec *crds.TaskSpec, at *field.Path) {
	if n := len(spec.Steps) + len(spec.Sidecars); n > MaxContainers {
		r.fails(at, field.OmitValueType{}, "the task has %d steps and sidecars and can have %d together, since the kubelet keeps no more of what they say when they end: put several commands into one step", n, MaxContainers)
	}
}

// stepName looks at the name of a step, which has another where it has none.
func (r *report) stepName(own, name string, at *field.Path, taken map[string]bool) {
	if own != "" && len(validation.IsDNS1123Label(own)) > 0 {
		r.invalid(at, own, "it becomes the name of a container, and can have small letters, digits and -, a letter or digit at both ends, and %d characters: choose another", validation.DNS1123LabelMaxLength)
	}
	container := "step-" + name
	container = container[:min(len(container), validation.DNS1123LabelMaxLength)]
	switch {
	case own != "" && taken["step "+own]:
		r.invalid(at, own, "another step has the name: choose another")
	case taken[container]:
		r.fails(at, name, "another step's container has the name, which begins with the same %d characters: choose another", len(container)-len("step-"))
	}
	taken["step "+own], taken[container] = true, true
}

// step looks at one that says itself what to run.
func (r *report) step(spec *crds.TaskSpec, step *crds.Step, at *field.Path) {
	if step.Image == "" && (spec.StepTemplate == nil || spec.StepTemplate.Image == "") {
		r.required(at.Child("image"), "name the image to run, here or in stepTemplate")
	}
	if step.Script != "" && len(step.Command) > 0 {
		r.forbidden(at.Child("script"), "a step runs a script or a command, and this one has both: leave one of them")
	}
	if len(step.Params) > 0 {
		r.forbidden(at.Child("params"), "they are for a StepAction, and the step refers to none: name it in ref, or use the params of the task")
	}
	r.windows(step.Script, at.Child("script"))
}

// windows: nodes with Windows have another entrypoint, which there is not.
func (r *report) windows(script string, at *field.Path) {
	if strings.HasPrefix(strings.TrimSpace(script), "#!win") {
		r.forbidden(at, "scripts for Windows are not served: write one for Linux")
	}
}

// referringStep looks at one that a StepAction says what to run for.
func (r *report) referringStep(step *crds.Step, at *field.Path) {
	r.ref(step.Ref.Name, step.Ref.ResolverRef, at.Child("ref"))
	if resolver := step.Ref.Resolver; resolver != "" && step.Ref.Name == "" {
		r.fails(at.Child("ref", "resolver"), resolver, "resolvers of StepActions are not served: apply the StepAction to the cluster, and refer to it by name")
	}
	for _, has := range []struct {
		field string
		given bool
	}{
		{"image", step.Image != ""}, {"command", len(step.Command) > 0}, {"args", len(step.Args) > 0},
		{"script", step.Script != ""}, {"workingDir", step.WorkingDir != ""}, {"env", step.Env != nil},
		{"volumeMounts", len(step.VolumeMounts) > 0}, {"results", len(step.Results) > 0},
	} {
		if has.given {
			r.forbidden(at.Child(has.field), "the StepAction that the step refers to says what it is: leave it out, or leave out ref")
		}
	}
}

// stepAnyway looks at what any step can have.
func (r *report) stepAnyway(spec *crds.TaskSpec, step *crds.Step, workspaces map[string]bool, at *field.Path) {
	r.timeout(step.Timeout, at.Child("timeout"))
	r.stepOnError(step.OnError, at.Child("onError"))
	r.mounts(step.VolumeMounts, at.Child("volumeMounts"))
	r.workspaceUsages(step.Workspaces, workspaces, at.Child("workspaces"))
	r.stepResults(step.Results, at.Child("results"))
	r.when(step.When, at.Child("when"))
	r.requests(spec, step, at.Child("computeResources", "requests"))
}

func (r *report) stepOnError(onError crds.OnErrorType, at *field.Path) {
	known := []crds.OnErrorType{crds.OnErrorContinue, crds.OnErrorStopAndFail}
	if onError == "" || slices.Contains(known, onError) || strings.HasPrefix(string(onError), "$(params") && !r.resolved {
		return
	}
	unsupported(r, at, onError, known)
}

// requests: the API server would say so of a container that nobody has heard of.
func (r *report) requests(spec *crds.TaskSpec, step *crds.Step, at *field.Path) {
	for _, resource := range sortedResources(step.ComputeResources.Requests) {
		request := step.ComputeResources.Requests[resource]
		limit, ok := step.ComputeResources.Limits[resource]
		if !ok && spec.StepTemplate != nil {
			limit, ok = spec.StepTemplate.ComputeResources.Limits[resource]
		}
		if ok && limit.Cmp(request) < 0 {
			r.fails(at.Key(string(resource)), request.String(), "it is more than the limit of %s: make it less, or the limit more", limit.String())
		}
	}
}

func sortedResources(list corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(list))
	for name := range list {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// stepVariables looks at the references in a step.
func (r *report) stepVariables(step *crds.Step, i int, at *field.Path, s *scope) {
	text := place{strict: true, step: i}
	script := place{strict: true, step: i, script: true, results: names(step.Results)}
	for _, one := range []struct {
		field, text string
		in          place
	}{
		{"name", step.Name, text}, {"image", step.Image, text}, {"workingDir", step.WorkingDir, text},
		{"onError", string(step.OnError), text}, {"script", step.Script, script},
	} {
		if refers(one.text) {
			r.text(at.Child(one.field), one.text, s, one.in)
		}
	}
	element := place{strict: true, step: i, elements: true, later: true}
	r.list(at.Child("command"), step.Command, s, element)
	r.list(at.Child("args"), step.Args, s, element)
	r.env(at.Child("env"), step.Env, s, place{strict: true, step: i, later: true})
	r.mountVariables(at.Child("volumeMounts"), step.VolumeMounts, s, text)
	r.otherVariables(step, i, at, s)
}

func (r *report) list(at *field.Path, list []string, s *scope, in place) {
	for i, one := range list {
		if refers(one) {
			r.text(at.Index(i), one, s, in)
		}
	}
}

func (r *report) env(at *field.Path, env []corev1.EnvVar, s *scope, in place) {
	for i, one := range env {
		if refers(one.Value) {
			r.text(at.Index(i).Child("value"), one.Value, s, in)
		}
	}
}

func (r *report) mountVariables(at *field.Path, mounts []corev1.VolumeMount, s *scope, in place) {
	for i, mount := range mounts {
		r.text(at.Index(i).Child("name"), mount.Name, s, in)
		r.text(at.Index(i).Child("mountPath"), mount.MountPath, s, in)
		r.text(at.Index(i).Child("subPath"), mount.SubPath, s, in)
	}
}

func names(results []crds.StepResult) map[string]bool {
	names := make(map[string]bool, len(results))
	for _, result := range results {
		names[result.Name] = true
	}
	return names
}

// otherVariables looks at the fields of a step in which Tekton finds out when the task
// runs; but it does say that results of steps are not known in most of them.
func (r *report) otherVariables(step *crds.Step, i int, at *field.Path, s *scope) {
	given := place{step: i, values: true, later: true}
	texts(step.Params, at.Child("params"), func(at *field.Path, text string) { r.text(at, text, s, given) })
	texts(step.When, at.Child("when"), func(at *field.Path, text string) { r.text(at, text, s, given) })
	texts(step.Ref, at.Child("ref"), func(at *field.Path, text string) { r.text(at, text, s, place{step: i, values: true}) })
	container := crds.Step{EnvFrom: step.EnvFrom, VolumeDevices: step.VolumeDevices, ImagePullPolicy: step.ImagePullPolicy}
	texts(container, at, func(at *field.Path, text string) { r.text(at, text, s, place{step: i, early: true}) })
	rest := crds.Step{
		ComputeResources: step.ComputeResources, SecurityContext: step.SecurityContext, Workspaces: step.Workspaces,
		StdoutConfig: step.StdoutConfig, StderrConfig: step.StderrConfig,
	}
	for j, env := range step.Env {
		if env.ValueFrom != nil {
			texts(env.ValueFrom, at.Child("env").Index(j).Child("valueFrom"), func(at *field.Path, text string) { r.text(at, text, s, place{step: i}) })
		}
	}
	texts(rest, at, func(at *field.Path, text string) { r.text(at, text, s, place{step: i}) })
}
