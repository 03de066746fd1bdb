package simulation

import (
	"slices"
	"time"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A Silence is a watch that was accepted and then said nothing, until it was given
// up.
type Silence struct {
	Watch    apiserver.Request
	From, To time.Time
}

// withoutTask notes that no Task is there: runs that look for one now may fail.
func (f *Facts) withoutTask() {
	const kind = "its Task was not there"
	for _, run := range f.Runs {
		if run.Gone || !run.Ended.IsZero() || slices.Contains(run.Disturbed, kind) {
			continue
		}
		r := apiserver.Into[crds.TaskRun](run.Last)
		if r.Spec.TaskRef != nil && r.Status.TaskSpec == nil {
			run.Disturbed = append(run.Disturbed, kind)
		}
	}
}
