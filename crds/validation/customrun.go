package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// CustomRun tells what is wrong with a CustomRun. What its spec means, the controller
// knows that it is for.
func CustomRun(run *crds.CustomRun, o Options) (errs field.ErrorList, warnings []string) {
	r := &report{Options: o}
	spec, at := &run.Spec, field.NewPath("spec")
	r.metadata(&run.ObjectMeta)
	switch {
	case spec.CustomRef == nil && spec.CustomSpec == nil:
		r.required(at.Child("customRef"), "say what to run: refer to a custom task here, or write one in customSpec")
	case spec.CustomRef != nil && spec.CustomSpec != nil:
		r.forbidden(at.Child("customSpec"), "a run has one custom task, and this one has customRef, too: leave one of them")
	case spec.CustomRef != nil:
		r.customRunKind(spec.CustomRef.APIVersion, spec.CustomRef.Kind, at.Child("customRef"))
	default:
		r.customRunKind(spec.CustomSpec.APIVersion, spec.CustomSpec.Kind, at.Child("customSpec"))
	}
	r.customRunStatus(spec, at)
	r.params(spec.Params, at.Child("params"))
	r.workspaceBindings(spec.Workspaces, at.Child("workspaces"))
	if spec.Retries < 0 {
		r.warn(at.Child("retries"), "it is negative, and means the same as 0: leave it out")
	}
	if spec.Timeout != nil && spec.Timeout.Duration < 0 {
		r.warn(at.Child("timeout"), "it is negative, and what that means the controller of the custom task decides: give it a time, or 0 for no limit")
	}
	return r.result()
}

// customRunKind: a controller finds its runs by both.
func (r *report) customRunKind(apiVersion, kind string, at *field.Path) {
	if apiVersion == "" {
		r.required(at.Child("apiVersion"), "the controller of the custom task finds the run by it: write group/version, such as example.dev/v1")
	}
	if kind == "" {
		r.required(at.Child("kind"), "the controller of the custom task finds the run by it: write the kind")
	}
}

func (r *report) customRunStatus(spec *crds.CustomRunSpec, at *field.Path) {
	switch {
	case spec.Status == "" && spec.StatusMessage != "":
		r.forbidden(at.Child("statusMessage"), "it is a word about status, which is empty: set that, or leave it out")
	case spec.Status != "" && spec.Status != crds.CustomRunSpecStatusCancelled:
		r.warn(at.Child("status"), "%q does nothing: write %s to stop the run, or leave it out", spec.Status, crds.CustomRunSpecStatusCancelled)
	}
}
