package taskrun

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/reconcile"
)

// follow brings the status of the run up to that of its pod.
func (d decision) follow() Plan {
	pod := d.Pod
	if because := imageVolumeTrouble(pod, d.config); because != "" && d.MayFallBack && pod.DeletionTimestamp == nil {
		return d.fallBack(because)
	}
	status := d.adopt()
	unbegun := !podBegun(pod) && !begun(status.Steps)
	switch {
	case pod.DeletionTimestamp != nil && unbegun:
		return Plan{Why: "the pod is being deleted", Requeue: d.poll(d.untilTimeout(status))}
	case complete(pod):
		return d.judge(status)
	case pod.DeletionTimestamp != nil:
		// Written down now, since the pod may vanish before it is looked at again,
		// and would then be taken for one that had not begun.
		return d.running("the pod is being deleted", status)
	}
	if broken := brokenSidecar(pod); broken != nil {
		return d.giveUp(status, broken)
	}
	straw, until := lastStraw(pod, d.now, d.config)
	if straw != nil {
		return d.giveUp(status, straw.refusal(d.Run))
	}
	if isPending(pod) && !podBegun(pod) {
		return d.awaitClaims(status, d.await(status, until))
	}
	return d.running("steps are running", status)
}

// fallBack replaces a pod that cannot mount the entrypoint's image. All new pods are made
// otherwise then, which is not done on the word of a cache: the pod may have begun.
func (d decision) fallBack(because string) Plan {
	if !d.PodSought {
		return Plan{Why: "the pod cannot mount the entrypoint's image, as the cache has it", FindPod: true}
	}
	return Plan{
		Why:     "the pod cannot mount the entrypoint's image",
		Actions: []Action{FallBack{because}, d.removeUnbegun()},
		Requeue: time.Second,
	}
}

// running tells what the steps are at.
func (d decision) running(why string, status crds.TaskRunStatus) Plan {
	status.Steps = stepStates(d.Pod, status.Steps)
	if status.TaskSpec != nil {
		status.Steps = findResults(d.Pod, nil).ofSteps(status.TaskSpec, status.Steps)
	}
	status.Sidecars = sidecarStates(d.Pod)
	status = d.set(status, ongoing(crds.TaskRunReasonRunning, "Not all Steps in the Task have finished executing"))
	p := d.write(why, status)
	p.Requeue = d.poll(d.untilTimeout(status))
	return p
}

// adopt fills in what the status should say of a pod that exists. The start is
// missing after a wait for quota, which does not count; the spec is missing only
// if somebody has erased the status, and stays so if its Task is gone, too.
func (d decision) adopt() crds.TaskRunStatus {
	status := d.Run.Status
	status.PodName = d.Pod.Name
	if status.StartTime == nil {
		status.StartTime = d.madeAt()
	}
	if status.TaskSpec == nil && taskSpec(d.Run, d.Task) != nil {
		if spec, refused := resolve(d.Run, d.Task, d.Actions, d.config); refused == nil {
			status = d.freeze(status, spec)
		}
	}
	return status
}

// madeAt is when the pod was made, by the server's clock, as far as that can be by
// this machine's: not before the run was first said to be under way or an earlier
// attempt had ended, and not in the future. A server that is an hour behind would have the run timed out.
func (d decision) madeAt() *metav1.Time {
	at := d.Pod.CreationTimestamp
	if c, ok := d.Run.Status.Conditions.Get(crds.ConditionSucceeded); ok && at.Before(&c.LastTransitionTime) {
		at = c.LastTransitionTime
	}
	if n := len(d.Run.Status.RetriesStatus); n > 0 {
		if before := d.Run.Status.RetriesStatus[n-1].CompletionTime; before != nil && at.Before(before) {
			at = *before
		}
	}
	if at.After(d.now) {
		at = metav1.NewTime(d.now.Truncate(time.Second))
	}
	return &at
}

// judge ends a run whose pod is complete.
func (d decision) judge(status crds.TaskRunStatus) Plan {
	if hasCollector(d.Pod) && d.ResultsLog == nil {
		return Plan{Why: "the results are in a log", ReadLog: true}
	}
	status.Steps = stepStates(d.Pod, status.Steps)
	status.Sidecars = sidecarStates(d.Pod)
	condition := ignoredByPipeline(d.Run, outcome(d.Pod))
	if lost := lostResults(d.Pod, d.NoLog); lost != nil && condition.Status == corev1.ConditionTrue {
		condition = failure(lost.reason, lost.message)
	}
	if status.TaskSpec != nil {
		found := findResults(d.Pod, d.ResultsLog)
		status.Steps = found.ofSteps(status.TaskSpec, status.Steps)
		harvest := gather(status.TaskSpec, found)
		status.Results = harvest.results
		if wrong := harvest.refusal(maxSize(d.Pod)); wrong != nil && condition.Status == corev1.ConditionTrue {
			condition = failure(wrong.reason, wrong.message)
		}
	}
	if alive(d.Pod) {
		return d.finish(status, condition, StopPod{d.Pod.Name, d.Pod.UID})
	}
	return d.finish(status, condition, nil)
}

// giveUp ends an attempt whose pod will never start. The cache alone is not believed: its
// watch may stand still, and the pod have begun.
func (d decision) giveUp(status crds.TaskRunStatus, r *refusal) Plan {
	if !d.PodSought {
		return Plan{Why: "the pod will not start, as the cache has it: " + string(r.reason), FindPod: true}
	}
	status.Steps = stepStates(d.Pod, status.Steps)
	status.Sidecars = sidecarStates(d.Pod)
	return d.finish(status, failure(r.reason, r.message), d.removeUnbegun())
}

// await says what a pod waits for, unless it is too early to say.
func (d decision) await(status crds.TaskRunStatus, until time.Time) Plan {
	condition, sure := pending(d.Pod)
	explain := d.explainAt()
	if !sure && d.now.Before(explain) {
		if d.Run.HasStarted() && d.Run.Succeeded().Reason == string(crds.TaskRunReasonStarted) {
			return Plan{Why: "the pod is starting", Requeue: d.poll(explain.Sub(d.now))}
		}
		condition = ongoing(crds.TaskRunReasonPending, "Pending")
	}
	quiet := !sure && !d.now.Before(explain) && silent(d.Pod)
	switch {
	case quiet && !d.Told.holds(d.Pod.UID, d.now):
		return Plan{Why: "the pod does not say why it has not started", Inquire: true}
	case quiet && d.Told.trouble != "":
		condition = ongoing(crds.TaskRunReasonPending, fmt.Sprintf("pod %q has not started: %s", d.Pod.Name, d.Told.trouble))
	}
	p := d.write("the pod has not started", d.set(status, condition))
	p.Requeue = d.untilTimeout(status)
	if quiet { // no change of the pod will tell of another trouble
		p.Requeue = reconcile.Soonest(p.Requeue, d.Told.left(d.now))
	}
	if !until.IsZero() {
		p.Requeue = reconcile.Soonest(p.Requeue, until.Sub(d.now))
	}
	if d.now.Before(explain) {
		p.Requeue = reconcile.Soonest(p.Requeue, explain.Sub(d.now))
	}
	p.Requeue = d.poll(p.Requeue)
	return p
}
