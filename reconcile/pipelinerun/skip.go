package pipelinerun

import (
	"fmt"

	"millrace/crds"
	"millrace/crds/reference"
)

// look finds the state of one task that has not been settled; those before it in the
// order have been looked at. That a task can never run is found even if it would not
// be run any more, unless it follows one that failed: else the run would forget, when
// another task fails, why it ends.
func (d *decision) look(t *task) *refusal {
	switch {
	case t.recorded, t.state == ineligible, t.state == skipped:
		return nil
	case len(t.runs) > 0: // made, and not written down
		t.state = ready
		if d.skipBefore(t) != "" || d.late || d.tasksLate && !t.Final { // and what is lacking is not made any more
			t.recorded, t.state = true, t.assess()
		}
		return nil
	}
	t.state, t.reason, t.shown = waiting, "", nil
	early := d.skipBefore(t)
	if !d.needsOne(t, func(n *task) bool { return !n.state.done() || n.state != ineligible && n.stops() }) {
		r := d.lookInTurn(t)
		if early == "" || t.state == ineligible {
			return r
		}
	}
	switch {
	case early != "":
		d.skip(t, early)
	case d.byParent(t):
		d.skip(t, crds.SkippingReasonParentTasks)
	}
	return nil
}

// lookInTurn is for a task whose turn it is: all that it needs is done.
func (d *decision) lookInTurn(t *task) *refusal {
	if t.Final {
		d.setStates()
	}
	if !d.loadResults(t.WhenRefs) {
		return nil
	}
	holds, unknown := true, d.unknown(t.WhenRefs)
	if len(unknown) == 0 {
		var r *refusal
		if holds, t.shown, r = d.evaluate(t); r != nil {
			return r
		}
	}
	switch {
	case !holds:
		d.skip(t, crds.SkippingReasonWhen)
		return nil
	case d.byParent(t):
		d.skip(t, crds.SkippingReasonParentTasks)
		return nil
	case len(unknown) > 0:
		d.lacks(t, unknown)
		return nil
	}
	if !d.loadResults(t.Refs) {
		return nil
	}
	unknown = d.unknown(t.Refs)
	reason := d.skipAfter(t)
	switch {
	case len(unknown) > 0:
		d.lacks(t, unknown)
	case reason != "":
		d.skip(t, reason)
	default:
		t.state = ready
	}
	return nil
}

func (d *decision) skip(t *task, reason crds.SkippingReason) {
	t.state, t.reason = skipped, reason
	if reason != crds.SkippingReasonWhen {
		t.shown = nil
	}
}

// skipBefore are reasons that hold for every task of the graph that has not begun.
func (d *decision) skipBefore(t *task) crds.SkippingReason {
	switch {
	case t.Final:
		return ""
	case d.stopping:
		return crds.SkippingReasonStopping
	case d.Run.IsGracefullyCancelled():
		return crds.SkippingReasonGracefullyCancelled
	case d.Run.IsGracefullyStopped():
		return crds.SkippingReasonGracefullyStopped
	default:
		return ""
	}
}

// byParent tells that a task before this one was skipped, and not by its own
// conditions: those are nobody else's concern.
func (d *decision) byParent(t *task) bool {
	return d.needsOne(t, func(n *task) bool { return n.state == skipped && n.reason != crds.SkippingReasonWhen })
}

// skipAfter are reasons not to begin a task that could.
func (d *decision) skipAfter(t *task) crds.SkippingReason {
	switch {
	case d.late:
		return crds.SkippingReasonPipelineTimedOut
	case d.tasksLate && !t.Final:
		return crds.SkippingReasonTasksTimedOut
	case d.finallyLate && t.Final:
		return crds.SkippingReasonFinallyTimedOut
	case d.emptyMatrix(t):
		return crds.SkippingReasonEmptyMatrix
	default:
		return ""
	}
}

// lacks is for a task that refers to what is not there. Where that was to be
// expected it is skipped; else nobody can run it, and the run fails.
func (d *decision) lacks(t *task, unknown []reference.Task) {
	first := unknown[0]
	from := d.task(first.Task)
	expected := t.Final || t.ignores() || from != nil && from.state == skipped
	if expected {
		d.skip(t, crds.SkippingReasonMissingResults)
		return
	}
	t.state = ineligible
	t.fault = fmt.Sprintf("task %q refers to $(%s), and task %q has not left that", t.Name, first.Name, first.Task)
}
