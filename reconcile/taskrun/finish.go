package taskrun

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/reconcile"
)

// refuse ends a run that cannot be run.
func (d decision) refuse(r *refusal) Plan {
	status := d.Run.Status
	if status.StartTime == nil {
		status.StartTime = d.startTime()
	}
	return d.conclude(status, failure(r.reason, r.message))
}

// conclude ends the run with what its status says so far.
func (d decision) conclude(status crds.TaskRunStatus, condition crds.Condition) Plan {
	if d.mayHavePod() {
		return d.findPod(condition)
	}
	return d.write("the run ends: "+condition.Reason, d.ended(status, condition))
}

// mayHavePod tells that an attempt has no pod in the cache, and nobody has asked the
// server. No attempt ends on that: its pod would go on, and the next one's beside it
// (seed 1023).
func (d decision) mayHavePod() bool {
	return d.Pod == nil && !d.PodSought && d.Run.Status.TaskSpec != nil
}

func (d decision) findPod(condition crds.Condition) Plan {
	return Plan{Why: "the attempt ends, and the cache has no pod of it: " + condition.Reason, FindPod: true}
}

// ended is the status of an attempt that has ended so.
func (d decision) ended(status crds.TaskRunStatus, condition crds.Condition) crds.TaskRunStatus {
	status = d.set(status, condition)
	if status.StartTime == nil {
		status.StartTime = d.startTime()
	}
	status.CompletionTime = reconcile.CompletionTime(d.now, *status.StartTime)
	if condition.Status == corev1.ConditionFalse {
		status.Steps = endSteps(status.Steps, condition.Reason, *status.CompletionTime)
	}
	status.Sidecars = endSidecars(status.Sidecars, condition.Reason, *status.CompletionTime)
	return status
}

// finish ends the attempt, and the run with it unless that is to be tried again.
// stop, if not nil, is what has to be done about the pod. For the end of a run it
// comes last, for were the pod gone first a crash in between would have it made
// again. Before another attempt it comes first, because afterwards nobody looks at
// the pods of earlier ones.
func (d decision) finish(status crds.TaskRunStatus, condition crds.Condition, stop Action) Plan {
	retried := condition.Status == corev1.ConditionFalse && d.Run.IsRetriable()
	var p Plan
	if retried {
		p = d.retry(status, condition)
	} else {
		p = d.conclude(status, condition)
	}
	switch {
	case stop == nil:
	case retried:
		p.Actions = append([]Action{stop}, p.Actions...)
	default:
		p.Actions = append(p.Actions, stop)
	}
	return p
}

// maxFiled is how many bytes copies of the task may take in the status: an object
// has room for 1.5 MiB, and its spec and results are in there too.
const maxFiled = 512 << 10

// retry files the attempt away, whole, and begins another, which has its own time
// and its own pod, and the same task. A task so large that the copies in all the
// attempts might make the run too large to be stored is not filed with them: it is
// the same in all, and stays in the status.
func (d decision) retry(status crds.TaskRunStatus, condition crds.Condition) Plan {
	if d.mayHavePod() {
		return d.findPod(condition)
	}
	earlier := d.ended(status, condition)
	earlier.RetriesStatus = nil
	if d.Run.Spec.Retries*sizeOf(earlier.TaskSpec) > maxFiled {
		earlier.TaskSpec = nil
	}
	earlier.ObservedGeneration = d.Run.Generation
	status.RetriesStatus = append(slices.Clip(status.RetriesStatus), earlier)
	if begun(earlier.Steps) || d.hasBegun(d.Run) {
		status.Annotations = d.claimsUsed()
	}
	status.StartTime, status.CompletionTime, status.PodName = nil, nil, ""
	status.Steps, status.Sidecars, status.Results = nil, nil, nil
	p := d.write("the attempt failed and another follows: "+condition.Reason, d.set(status, ongoing(crds.TaskRunReasonToBeRetried, condition.Message)))
	p.Requeue = time.Millisecond
	return p
}

func sizeOf(spec *crds.TaskSpec) int {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return len(raw)
}
