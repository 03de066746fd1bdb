package taskrun

import (
	"millrace/crds"
	"millrace/reconcile/resolution"
)

// provenance is that of a run which begins: the settings of the program, and where its
// task was found if it is not an object of the run's own namespace.
func (d decision) provenance() *crds.Provenance {
	ref := d.Run.Spec.TaskRef
	if ref == nil || ref.Resolver == "" || d.Task == nil {
		return d.config.Provenance
	}
	return resolution.Provenance(d.config.Provenance, d.found, crds.KindTask, d.Task, d.Task.Spec)
}
