package pipelinerun

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

// stop asks a child to stop, unless it has been asked or has ended.
func stop(c *child, message string) []Action {
	return end(c, crds.PipelineRunSpecStatusCancelled, message)
}

// end asks a child to end; one that is a PipelineRun in that way, unless it has been
// asked to end sooner. Others know of one way.
func end(c *child, as crds.PipelineRunSpecStatus, message string) []Action {
	if c == nil || c.done() || c.Cancelled || c.Deleting {
		return nil
	}
	a := CancelChild{Kind: c.Kind, Name: c.Name, UID: c.UID, Version: c.Version, Message: forKind(c.Kind, message)}
	if c.Kind == crds.KindPipelineRun {
		if haste(c.Ending) >= haste(as) {
			return nil
		}
		a.As = as
	}
	return []Action{a}
}

// haste orders the ways in which a PipelineRun can be asked to end.
func haste(as crds.PipelineRunSpecStatus) int {
	switch as {
	case crds.PipelineRunSpecStatusCancelled:
		return 3
	case crds.PipelineRunSpecStatusCancelledRunFinally:
		return 2
	case crds.PipelineRunSpecStatusStoppedRunFinally:
		return 1
	default:
		return 0
	}
}

// stopAll asks every child, in the order of their names. One that was made a moment ago
// has no UID yet, by which it could be asked: it is looked at again.
func (d *decision) stopAll(message string) []Action {
	children := slices.Clone(d.Children)
	slices.SortFunc(children, func(a, b *child) int { return compareNumbered(a.Name, b.Name) })
	actions := make([]Action, 0, len(children))
	for _, c := range children {
		if c.UID == "" {
			d.retry = reconcile.Soonest(d.retry, time.Second)
			continue
		}
		actions = append(actions, stop(c, message)...)
	}
	return actions
}

// stops are the children whose time is up, or who are to stop by themselves: a user
// ends the tasks, and lets finally run.
func (d *decision) stops() Plan {
	var p Plan
	for _, t := range d.tasks {
		if t.state.done() {
			continue
		}
		for _, r := range t.runs {
			switch {
			case !t.Final && d.tasksLate, t.Final && d.finallyLate, d.expired(t, r.child):
				p.Actions = append(p.Actions, stop(r.child, cancelledByTimeout)...)
			case !t.Final && d.Run.IsGracefullyCancelled():
				p.Actions = append(p.Actions, end(r.child, d.Run.Spec.Status, cancelledByUser)...)
			case !t.Final && d.Run.IsGracefullyStopped() && t.kind() == crds.KindPipelineRun: // so that no more of its tasks begin
				p.Actions = append(p.Actions, end(r.child, d.Run.Spec.Status, cancelledByUser)...)
			}
		}
	}
	return p
}

// expired tells that an attempt of a CustomRun has taken too long. Whoever runs it
// may not know of timeouts; for TaskRuns, taskrun keeps the time.
func (d *decision) expired(t *task, c *child) bool {
	if c == nil || c.done() || c.Cancelled || c.Kind != crds.KindCustomRun || c.Started.IsZero() {
		return false
	}
	limit := d.runTimeout(t, d.specOf(t.Name))
	if limit == nil || limit.Duration <= 0 {
		return false
	}
	deadline := c.Started.Add(limit.Duration)
	if d.now.Before(deadline) {
		d.retry = reconcile.Soonest(d.retry, deadline.Sub(d.now))
		return false
	}
	return true
}

// windDown ends a run from outside: by its user, or because its time is up. It has
// not ended before its TaskRuns have, and the pipelines within it: what is said to have
// stopped does nothing any more. CustomRuns are asked and not waited for, since nobody may be there to answer.
func (d *decision) windDown(reason crds.PipelineRunReason, message, told string) Plan {
	status := d.Run.Status
	awaited := 0
	for _, t := range d.tasks {
		for _, r := range t.runs {
			t.recorded = true
			if r.child != nil && !r.child.done() && r.child.Kind != crds.KindCustomRun {
				awaited++
			}
		}
	}
	if kinds := d.unsought(); awaited == 0 && len(kinds) > 0 {
		return Plan{Why: "the run is being ended, and may have children that no cache shows", Kinds: kinds}
	}
	status.ChildReferences = d.references(status)
	status.SkippedTasks = d.skippedTasks()
	if awaited > 0 {
		status = d.set(status, ongoing(crds.PipelineRunReasonStopping, fmt.Sprintf("%s; %d of its %s have not ended yet", message, awaited, d.awaitedOnes())))
	} else {
		status = d.ended(status, failure(reason, message))
	}
	p := d.write("the run is being ended: "+string(reason), status)
	p.Actions = append(d.stopAll(told), p.Actions...)
	p.Requeue = d.retry
	return p
}

// unsought are kinds of children of which the server has to be asked before a run ends
// that was cut short. A task that was not to begin any more may have begun: a process
// that ran before this one had it begin, and neither wrote that down nor is it in a cache
// that is behind; or the cache could not read it (seed 1051). Where nothing cuts a run
// short, each task is begun, or passed over for a reason that does not change.
func (d *decision) unsought() []string {
	cut := d.Run.IsCancelled() || d.askedToEnd() || d.late || d.tasksLate || d.finallyLate || d.stopping
	if !cut {
		return nil
	}
	return d.unseen()
}

// unseen are kinds of children of which the server has not been asked, and may have some
// that nothing tells of. Of a run whose tasks nobody knows that is each kind.
func (d *decision) unseen() (kinds []string) {
	begun := d.Run.HasStarted() || d.Unreadable != nil && len(d.Run.Status.Conditions) > 0 // of which the start is not read
	if d.ChildrenSought || !begun {
		return nil
	}
	if d.tasks == nil {
		return []string{crds.KindTaskRun, crds.KindCustomRun, crds.KindPipelineRun}
	}
	for _, t := range d.tasks {
		if all := t.recorded && t.Matrix == nil; !all && !slices.Contains(kinds, t.kind()) {
			kinds = append(kinds, t.kind())
		}
	}
	return kinds
}

// awaitedOnes is what to call the runs that are waited for.
func (d *decision) awaitedOnes() string {
	if slices.ContainsFunc(d.tasks, func(t *task) bool { return t.kind() == crds.KindPipelineRun }) {
		return "runs"
	}
	return "TaskRuns"
}

// fail ends a run that cannot go on, and stops what it has begun; before that the server
// is asked for what no cache shows, since nobody looks for it again.
func (d *decision) fail(r *refusal) Plan {
	if kinds := d.unseen(); len(kinds) > 0 {
		return Plan{Why: "the run cannot go on, and may have children that no cache shows", Kinds: kinds}
	}
	status := d.Run.Status
	for _, t := range d.tasks { // of runs that were about to be made there is nothing to tell
		t.runs = slices.DeleteFunc(slices.Clone(t.runs), func(r run) bool { return r.child == nil })
		t.recorded = t.recorded || len(t.runs) > 0
	}
	status.ChildReferences = d.references(status)
	p := d.write("the run ends: "+string(r.reason), d.ended(status, failure(r.reason, r.message)))
	d.retry = 0 // of a refusal that does not matter any more
	p.Actions = append(d.stopAll(cancelledByUser), p.Actions...)
	p.Requeue = d.retry
	return p
}

// refuse ends a run that cannot be run.
func (d *decision) refuse(r *refusal) Plan {
	return d.write("the run ends: "+string(r.reason), d.ended(d.Run.Status, failure(r.reason, r.message)))
}

// tooLarge ends a run whose status the server will not take. What it has stored so
// far it can store again.
func (d *decision) tooLarge() Plan {
	what := "with the pipeline in its status, make that smaller"
	if d.Run.Status.PipelineSpec != nil {
		what = "with what has become of its tasks, make fewer or smaller ones, and smaller results"
	}
	return d.fail(refused(crds.PipelineRunReasonFailed, "the run cannot be stored %s: %v", what, d.Unstorable))
}

// tidy is all that is left to do for a run that is done: to stop what it has begun,
// if the controller died between the two.
func (d *decision) tidy() Plan {
	p := Plan{Why: "the run is done", Actions: d.stopAll(cancelledByUser)}
	p.Requeue = d.retry
	if len(p.Actions) > 0 {
		p.Why = "the run is done and its children are not"
	}
	return p
}

// answers looks at what the server would not create. What may change without the run
// being changed is waited for, with the reason told; the rest ends the run.
func (d *decision) answers() *refusal {
	for _, name := range slices.Sorted(maps.Keys(d.Refused)) {
		err := d.Refused[name]
		if !call.MayBeLifted(err) {
			return refused(crds.PipelineRunReasonCreateRunFailed, "error creating %s: %v", name, err)
		}
		if d.waitsFor == "" {
			d.waitsFor = fmt.Sprintf("%s is refused, and will be tried again: %v", name, err)
			d.retry = reconcile.Soonest(d.retry, d.soon())
		}
	}
	return nil
}

// soon is when to try again what was refused for now.
func (d *decision) soon() time.Duration {
	from := d.Run.CreationTimestamp.Time
	if c := d.Run.Succeeded(); !c.LastTransitionTime.IsZero() {
		from = c.LastTransitionTime.Time
	}
	return reconcile.Pause(d.now.Sub(from))
}
