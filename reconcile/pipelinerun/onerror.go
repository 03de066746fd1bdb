package pipelinerun

import (
	"slices"

	"millrace/crds"
)

// onError is what becomes of the run when the task fails; a parameter may say so.
func (d *decision) onError(t *task) crds.PipelineTaskOnErrorType {
	if !hasVariables(string(t.OnError)) {
		return t.OnError
	}
	return crds.PipelineTaskOnErrorType(d.vars.Text(string(t.OnError)))
}

// ignores tells that a failure of the task does not matter.
func (t *task) ignores() bool { return t.OnError == crds.PipelineTaskContinue || t.calm }

// setCalm settles it for tasks of which a parameter says so. What had become of them was
// tallied without.
func (d *decision) setCalm() {
	for _, t := range d.tasks {
		if t.OnError == "" || d.onError(t) != crds.PipelineTaskContinue {
			continue
		}
		t.calm = true
		if t.state == failed {
			t.state = ignored
		}
	}
}

// checkOnError looks at what a parameter has said.
func (d *decision) checkOnError(t *task) *refusal {
	known := []crds.PipelineTaskOnErrorType{"", crds.PipelineTaskContinue, crds.PipelineTaskStopAndFail}
	switch said := d.onError(t); {
	case !slices.Contains(known, said):
		return d.badSpec("pipeline task %q: onError: %s is %q, and must be %s or %s", t.Name, t.OnError, said, crds.PipelineTaskContinue, crds.PipelineTaskStopAndFail)
	case t.ignores() && t.Retries > 0:
		return d.badSpec("pipeline task %q: onError: %s is %q, and a failure that is ignored is not tried again: leave out retries, or give another value", t.Name, t.OnError, said)
	default:
		return nil
	}
}
