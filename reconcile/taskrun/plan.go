package taskrun

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

// A Plan is what one reconcile is going to do: the actions in their order, then
// what it has to find out, after which another plan is made at once; else, a pause.
type Plan struct {
	Why     string        // in words, for people
	Actions []Action      // each is safe to repeat
	Lookups []string      // images whose entrypoint must be known to go on
	ReadLog bool          // the log of the collector must be known to go on
	Inquire bool          // what events tell of the pod must be known to go on
	FindPod bool          // whether the server has the pod must be known to go on
	Requeue time.Duration // look again after that; 0: when something changes
}

// asks tells whether the plan is only for finding something out.
func (p Plan) asks() bool { return len(p.Lookups) > 0 || p.ReadLog || p.Inquire || p.FindPod }

// String lists the plan, a line for the reason and a line for each step.
func (p Plan) String() string {
	var out strings.Builder
	out.WriteString(p.Why)
	for _, action := range p.Actions {
		out.WriteString("\n  " + action.String())
	}
	for _, image := range p.Lookups {
		out.WriteString("\n  look up image " + image)
	}
	if p.ReadLog {
		out.WriteString("\n  read the log of the results")
	}
	if p.Inquire {
		out.WriteString("\n  read the events of the pod")
	}
	if p.FindPod {
		out.WriteString("\n  look for the pod on the server")
	}
	if p.Requeue > 0 {
		out.WriteString("\n  look again in " + p.Requeue.String())
	}
	return out.String()
}

// plan decides what to do about a run. It is a function of its arguments and
// changes none of them: no clock, no I/O, no memory of earlier plans.
func plan(o observation, now time.Time, c Config) Plan {
	d := decision{observation: o, now: now, config: c}
	run := o.Run
	switch {
	case run.DeletionTimestamp != nil:
		return Plan{Why: "the run is being deleted, and its pod with it"}
	case !c.ours(run):
		return Plan{Why: fmt.Sprintf("the run is managed by %q", manager(run))}
	case run.IsDone():
		return d.tidy()
	case o.Unreadable != nil:
		return d.refuse(invalid("the TaskRun cannot be read, correct it and create it again: %v", o.Unreadable))
	case o.Unstorable != nil && o.hasBegun(run):
		return d.refuse(&refusal{crds.TaskRunReasonResultLargerThanAllowedLimit, fmt.Sprintf("the run cannot be stored with the results that its steps have left, make them smaller: %v", o.Unstorable)})
	case o.Unstorable != nil:
		return d.refuse(invalid("the run cannot be stored with what it is going to run in its status, make its task smaller: %v", o.Unstorable))
	case run.IsCancelled():
		message := fmt.Sprintf("TaskRun %q was cancelled. %s", run.Name, run.Spec.StatusMessage)
		return d.end(crds.TaskRunReasonCancelled, strings.TrimSpace(message))
	case d.timedOut():
		message := fmt.Sprintf("TaskRun %q failed to finish within %q", run.Name, timeout(run, c))
		return d.end(crds.TaskRunReasonTimedOut, message)
	case run.IsPending() && !run.HasStarted():
		return d.hold()
	default:
		return d.byPod()
	}
}

// A decision is one plan in the making.
type decision struct {
	observation
	now    time.Time
	config Config
	found  *crds.RefSource // where a resolver has found the task
}

func (d decision) byPod() Plan {
	switch whose(d.Pod, d.Run) {
	case nobodys:
		return d.withoutPod()
	case ours:
		return d.follow()
	case leaving:
		return d.awaitName()
	default:
		return d.refuse(&refusal{crds.TaskRunReasonPodCreationFailed, fmt.Sprintf(
			"failed to create task run pod %q: there is a pod %q that does not belong to this run; delete it or choose another name for the run", d.Run.Name, d.Pod.Name)})
	}
}

// awaitName waits until the pod's name is free, and says so where that takes time:
// a finalizer may hold the old pod for ever.
func (d decision) awaitName() Plan {
	waited := d.now.Sub(d.Run.CreationTimestamp.Time)
	p := Plan{Why: fmt.Sprintf("pod %s is left from somebody who had the name before, and will go", d.Pod.Name)}
	if waited >= d.config.explainPendingAfter() {
		p = d.write(p.Why, d.set(d.Run.Status, ongoing(crds.TaskRunReasonPending, fmt.Sprintf(
			"a pod %q that does not belong to this run has not gone yet; the run starts when it has", d.Pod.Name))))
	}
	p.Requeue = reconcile.Pause(waited)
	return p
}

// hold keeps a run from starting, as its author asked.
func (d decision) hold() Plan {
	status := d.Run.Status
	return d.write("spec.status keeps the run from starting", d.set(status, ongoing(crds.TaskRunReasonSpecPending, fmt.Sprintf("TaskRun %q is pending", d.Run.Name))))
}

// set returns the status with that condition.
func (d decision) set(status crds.TaskRunStatus, condition crds.Condition) crds.TaskRunStatus {
	status.Conditions = slices.Clone(status.Conditions)
	status.Conditions.Set(condition, d.now)
	return status
}

// write plans to store the status, unless the run has it already.
func (d decision) write(why string, status crds.TaskRunStatus) Plan {
	status.ObservedGeneration = d.Run.Status.ObservedGeneration // a spec that changed without consequence is no reason to write
	if call.Same(d.Run.Status, status) {
		return Plan{Why: why}
	}
	status.ObservedGeneration = d.Run.Generation
	return Plan{Why: why, Actions: []Action{PatchStatus{status}}}
}

// soon is when to try again what was refused for now.
func (d decision) soon() time.Duration {
	since := d.Run.CreationTimestamp.Time
	if condition := d.Run.Succeeded(); !condition.LastTransitionTime.IsZero() {
		since = condition.LastTransitionTime.Time
	}
	if start := d.Run.Status.StartTime; start != nil && start.After(since) { // of an attempt that is not the first
		since = start.Time
	}
	return reconcile.Pause(d.now.Sub(since))
}

// poll shortens a wait where no event will end it.
func (d decision) poll(wait time.Duration) time.Duration {
	if d.PodUncached {
		return reconcile.Soonest(wait, 10*time.Second)
	}
	return wait
}
