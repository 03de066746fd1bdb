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
	r.frozen(changed(now, old, func(run *crds.PipelineRun) crds.PipelineRunSpec { return run.Spec }, o.Defaults.PipelineRun), life{
		started: old.HasStarted() || old.Status.PipelineSpec != nil,
		ended:   old.IsDone(),
		free:    []string{"status"},
		waits:   now.IsPending() && !old.IsPending(),
		cancel:  string(crds.PipelineRunSpecStatusCancelled),
	})
	return r.errs
}
