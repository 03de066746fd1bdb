package taskrun

import "millrace/crds"

// end stops an attempt from outside: by the user of the run, which is its end, or
// by its time-out. The pod goes first; both causes last, so that a crash in between
// is made good.
func (d decision) end(reason crds.TaskRunReason, message string) Plan {
	finish := d.conclude
	if reason != crds.TaskRunReasonCancelled {
		finish = func(status crds.TaskRunStatus, condition crds.Condition) Plan {
			return d.finish(status, condition, nil)
		}
	}
	if whose(d.Pod, d.Run) != ours {
		return finish(d.Run.Status, failure(reason, message))
	}
	if d.mayHaveBegun(reason) {
		return Plan{Why: "the pod that is to be kept has not begun, as the cache has it", FindPod: true}
	}
	status := d.adopt()
	status.Steps = stepStates(d.Pod, status.Steps)
	status.Sidecars = sidecarStates(d.Pod)
	if status.TaskSpec != nil {
		found := findResults(d.Pod, d.ResultsLog)
		status.Steps = found.ofSteps(status.TaskSpec, status.Steps)
		status.Results = gather(status.TaskSpec, found).results
	}
	p := finish(status, failure(reason, message))
	if alive(d.Pod) {
		p.Actions = append([]Action{d.remove(reason)}, p.Actions...)
	}
	return p
}

// remove takes away the pod of a run that was stopped from outside, or leaves it
// with its logs where the administrator wants that for cancelled ones.
func (d decision) remove(reason crds.TaskRunReason) Action {
	over := d.Run.IsCancelled() || d.Run.IsDone()
	switch {
	case d.keeps(reason) && podBegun(d.Pod):
		return StopPod{d.Pod.Name, d.Pod.UID}
	case podBegun(d.Pod) || !d.keeps(reason) && (over || !d.Run.IsRetriable()):
		return DeletePod{Name: d.Pod.Name, UID: d.Pod.UID}
	default:
		return d.removeUnbegun()
	}
}

// keeps tells that a pod stays with its logs, once it has begun, when its run ends like
// that.
func (d decision) keeps(reason crds.TaskRunReason) bool {
	switch reason {
	case crds.TaskRunReasonCancelled:
		return d.config.KeepPodOnCancel
	case crds.TaskRunReasonTimedOut:
		return false
	default:
		return true
	}
}

// mayHaveBegun tells of a pod that is kept if it has begun, and has not as the cache has
// it. That is not believed: the cache may be behind, or have an object that was damaged.
func (d decision) mayHaveBegun(reason crds.TaskRunReason) bool {
	return d.keeps(reason) && alive(d.Pod) && !podBegun(d.Pod) && !d.PodSought
}

// removeUnbegun takes a pod away that has not begun, as it was looked at: it may have
// begun since. Its logs would be lost then, and, before another attempt, that it has
// written to the run's claims.
func (d decision) removeUnbegun() DeletePod {
	return DeletePod{d.Pod.Name, d.Pod.UID, d.Pod.ResourceVersion}
}

// tidy is all that is left to do for a run that is done: its pod may have
// outlived it if the controller died at the wrong moment.
func (d decision) tidy() Plan {
	if whose(d.Pod, d.Run) != ours || !alive(d.Pod) {
		return Plan{Why: "the run is done"}
	}
	reason := crds.TaskRunReason(d.Run.Succeeded().Reason)
	if d.mayHaveBegun(reason) {
		return Plan{Why: "the run is done, and its pod has not begun, as the cache has it", FindPod: true}
	}
	return Plan{Why: "the run is done and its pod is not", Actions: []Action{d.remove(reason)}}
}
