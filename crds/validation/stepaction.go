package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/reference"
)

// StepAction tells what is wrong with a StepAction. It knows nothing of the task that
// will use it: not its parameters, and not its volumes.
func StepAction(action *crds.StepAction, o Options) (errs field.ErrorList, warnings []string) {
	r := &report{Options: o}
	at := field.NewPath("spec")
	spec := &action.Spec
	r.metadata(&action.ObjectMeta)
	if spec.Image == "" {
		r.required(at.Child("image"), "name the image to run")
	}
	if spec.Script != "" && len(spec.Command) > 0 {
		r.forbidden(at.Child("script"), "a StepAction runs a script or a command, and this one has both: leave one of them")
	}
	r.windows(spec.Script, at.Child("script"))
	r.paramSpecs(spec.Params, at.Child("params"))
	r.objects(spec.Params, at.Child("params"))
	r.stepResults(spec.Results, at.Child("results"))
	r.actionMounts(spec, at.Child("volumeMounts"))
	r.actionVariables(spec, at)
	return r.result()
}

// actionMounts: which volumes there are only the task knows, which says it by a
// parameter.
func (r *report) actionMounts(spec *crds.StepActionSpec, at *field.Path) {
	for i, mount := range spec.VolumeMounts {
		name, whole := reference.Whole(mount.Name)
		if _, isParam := reference.Of("params", name); !whole || !isParam {
			r.invalid(at.Index(i).Child("name"), mount.Name, "a StepAction has no volumes, and the task that uses it names one by a parameter: write $(params.<name>)")
		}
	}
	r.laterMounts(spec.VolumeMounts, at)
}

// actionVariables: in a script no parameter may be put at all, since the value would be
// a part of the program.
func (r *report) actionVariables(spec *crds.StepActionSpec, at *field.Path) {
	s := &scope{params: paramsOf(spec.Params), open: false}
	text := place{strict: true, step: -1}
	inScript := false
	reference.Each(spec.Script, func(name string) {
		_, isParam := reference.Of("params", name)
		if isParam && !inScript {
			r.forbidden(at.Child("script"), "$(%s) would be put into the script as it is, so who gives the value could have other commands run: pass it by env, {name: X, value: $(%s)}, and write \"$X\"", name, name)
		}
		inScript = inScript || isParam
	})
	if !inScript {
		r.text(at.Child("script"), spec.Script, s, place{strict: true, step: -1, results: names(spec.Results)})
	}
	r.text(at.Child("image"), spec.Image, s, text)
	r.text(at.Child("workingDir"), spec.WorkingDir, s, place{step: -1})
	element := place{strict: true, step: -1, elements: true, later: true}
	r.list(at.Child("command"), spec.Command, s, element)
	r.list(at.Child("args"), spec.Args, s, element)
	r.env(at.Child("env"), spec.Env, s, place{strict: true, step: -1, later: true})
	for i, mount := range spec.VolumeMounts {
		r.text(at.Child("volumeMounts").Index(i).Child("name"), mount.Name, s, text)
	}
}
