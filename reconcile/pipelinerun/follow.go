package pipelinerun

import (
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/reconcile"
)

// follow brings a run that has begun one step on: it finds out what has become of
// each task, begins those whose turn it is, stops those whose time is up, and tells
// so in the status.
func (d *decision) follow() Plan {
	if r := d.load(d.Run.Status.PipelineSpec); r != nil {
		return d.fail(r) // it was checked when it was written down; since then others may have written
	}
	if missing := d.tally(); len(missing) > 0 {
		slices.Sort(missing)
		return Plan{Why: "children that were there are not in the cache", Missing: missing}
	}
	if d.Run.IsCancelled() {
		return d.windDown(crds.PipelineRunReasonCancelled, wasCancelled(d.Run), cancelledByUser)
	}
	if r := d.classify(); r != nil {
		return d.fail(r)
	}
	if len(d.need) > 0 {
		return Plan{Why: "results are needed to go on", Results: slices.Sorted(maps.Keys(d.need))}
	}
	if d.late && d.anyLeft() {
		return d.windDown(crds.PipelineRunReasonTimedOut, timedOut(d.Run, d.config), cancelledByTimeout)
	}
	return d.advance()
}

// load takes the pipeline apart, and ties its runs to it, unless an earlier plan has.
func (d *decision) load(spec *crds.PipelineSpec) (r *refusal) {
	d.spec = spec
	if d.Graph == nil || d.Graph.of != spec {
		if d.Graph, r = draw(spec); r != nil {
			return d.invalidGraph(r)
		}
	}
	d.graph = d.Graph
	if refs := d.Run.Status.ChildReferences; !d.Tally.is(d.graph, refs, d.Children) {
		d.Tally = tie(d.graph, refs, d.Children)
	}
	d.tasks, d.order = d.Tally.copied()
	d.vars = d.variables()
	d.setCalm()
	d.need = map[string]bool{}
	pipeline, tasks, finally := d.deadlines(d.Run.Status)
	d.late, d.tasksLate, d.finallyLate = d.reached(pipeline), d.reached(tasks), d.reached(finally)
	return nil
}

// classify finds the state of every task, and which may begin. A task that can never
// run stops the others, so that those which were to begin, or to wait, are looked at
// once more. What is skipped stays so, with its reason: whether a task can run follows
// from that, now and in every later plan.
func (d *decision) classify() *refusal {
	for {
		d.stopping = slices.ContainsFunc(d.tasks, (*task).stops)
		before := d.stopping
		for _, t := range slices.Concat(d.order, d.tasks[len(d.order):]) {
			if t.Final && !d.graphDone() {
				continue
			}
			if r := d.look(t); r != nil {
				return r
			}
		}
		if after := slices.ContainsFunc(d.tasks, (*task).stops); after == before {
			return nil
		}
	}
}

// graphDone tells that no task of the graph runs, or will.
func (d *decision) graphDone() bool {
	return !slices.ContainsFunc(d.order, func(t *task) bool { return !t.state.done() })
}

// anyLeft tells that the run has not ended by itself: something runs, or was stopped or
// will not run because its time is over.
func (d *decision) anyLeft() bool {
	return slices.ContainsFunc(d.tasks, func(t *task) bool {
		return !t.state.done() || t.state == outOfTime || t.state == skipped && t.reason == crds.SkippingReasonPipelineTimedOut
	})
}

// advance begins what is ready, stops what has to stop, and tells.
func (d *decision) advance() Plan {
	if r := d.answers(); r != nil {
		return d.fail(r)
	}
	p := d.stops()
	status := d.Run.Status
	begun := map[*task]bool{}
	for at := 0; at < len(d.tasks); at++ {
		t := d.tasks[at]
		if t.state != ready || begun[t] {
			continue
		}
		begun[t] = true
		actions, r := d.begin(t)
		if r != nil {
			return d.fail(r)
		}
		p.Actions = append(p.Actions, actions...)
		if t.state.done() { // it had been made, and had ended before anybody wrote it down: nobody will tell of that again
			if r := d.classify(); r != nil {
				return d.fail(r)
			}
			if len(d.need) > 0 {
				return Plan{Why: "results are needed to go on", Results: slices.Sorted(maps.Keys(d.need))}
			}
			at = -1 // others may be ready now
		}
		if t.Final && status.FinallyStartTime == nil && t.state == running {
			at := metav1.NewTime(d.now.Truncate(time.Second))
			status.FinallyStartTime = &at
		}
	}
	if p.begins() && !d.Confirmed { // nothing in a creation insists on the run's version, as a write of the run does
		return Plan{Why: "a task is to begin, and the run may be further than the cache", Confirm: true}
	}
	status = d.told(status)
	if len(d.need) > 0 {
		return Plan{Why: "results are needed for those of the pipeline", Results: slices.Sorted(maps.Keys(d.need))}
	}
	if kinds := d.unsought(); status.CompletionTime != nil && len(kinds) > 0 {
		return Plan{Why: "the run ends before its time, and may have children that no cache shows", Kinds: kinds}
	}
	p.Why = d.why()
	p.Actions = append(p.Actions, d.write("", status).Actions...)
	if status.CompletionTime == nil {
		p.Requeue = reconcile.Soonest(d.retry, d.wake(status))
	}
	return p
}
