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
	var p crds.Provenance
	if d.config.Provenance != nil {
		p = *d.config.Provenance
	}
	if d.found != nil {
		p.RefSource = d.found
		return &p
	}
	if found, err := resolution.Source(crds.KindTask, d.Task, d.Task.Spec); err == nil {
		p.RefSource = found
	}
	return &p
}
