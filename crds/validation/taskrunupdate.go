package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// TaskRunUpdate tells what may not be changed any more: managedBy never; once the run has
// started, all but status and statusMessage; once it has ended, those, too. Metadata may
// always be changed. The specs are compared as if both had their defaults, so a client
// that knows none of them, or fewer, changes nothing by leaving them out.
func TaskRunUpdate(now, old *crds.TaskRun, o Options) field.ErrorList {
	r := &report{Options: o}
	r.frozen(changed(now, old, func(run *crds.TaskRun) crds.TaskRunSpec { return run.Spec }, o.Defaults.TaskRun), life{
		started: old.HasStarted() || old.Status.TaskSpec != nil || len(old.Status.RetriesStatus) > 0,
		ended:   old.IsDone(),
		free:    []string{"status", "statusMessage"},
		waits:   now.IsPending() && !old.IsPending(),
		cancel:  string(crds.TaskRunSpecStatusCancelled),
	})
	return r.errs
}
