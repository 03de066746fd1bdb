package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// PipelineRunUpdate tells what may not be changed any more: managedBy never; once the run
// has started, all but status; once it has ended, that, too. Metadata may always be
// changed. The specs are compared as if both had their defaults; see TaskRunUpdate.
func PipelineRunUpdate(now, old *crds.PipelineRun, o Options) field.ErrorList {
	r := &report{Options: o}
	at := field.NewPath("spec")
	changed := changes(now.Spec, old.Spec)
	if hasDefaults(changed) {
		changed = changes(defaulted(now, o.Defaults.PipelineRun).Spec, defaulted(old, o.Defaults.PipelineRun).Spec)
	}
	started := old.HasStarted() || old.Status.PipelineSpec != nil
	for _, name := range changed {
		switch at := at.Child(name); {
		case name == "managedBy":
			r.forbidden(at, "who executes a run is said when it is created, and cannot be changed: create another")
		case old.IsDone():
			r.forbidden(at, "the run has ended, and cannot be changed: create another")
		case started && name != "status":
			r.forbidden(at, "the run has started, and only status can be changed: create another")
		}
	}
	if started && !old.IsDone() && now.IsPending() && !old.IsPending() {
		r.forbidden(at.Child("status"), "the run has started, and cannot wait any more: cancel it with %s", crds.PipelineRunSpecStatusCancelled)
	}
	return r.errs
}
