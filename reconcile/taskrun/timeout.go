package taskrun

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// timedOut leaves a pod that had ended in time to be judged by how it ended:
// nobody is to blame for the time that the controller was away.
func (d decision) timedOut() bool {
	limit := timeout(d.Run, d.config)
	if limit == 0 {
		return false
	}
	// A run that waited for quota may not have been told yet that it has begun.
	if whose(d.Pod, d.Run) == ours && ranOut(d.Pod, limit) {
		return true
	}
	if !d.Run.HasStarted() {
		return false
	}
	deadline := d.Run.Status.StartTime.Add(limit)
	if d.now.Before(deadline) {
		return false
	}
	if whose(d.Pod, d.Run) != ours || !complete(d.Pod) {
		return true
	}
	// Times of pods are in whole seconds, and a pod that we ended, ended in the
	// second of the deadline at the earliest.
	finished := finishedAt(d.Pod)
	return finished.IsZero() || !finished.Before(deadline)
}

// ranOut tells a pod that failed because the kubelet held it to the deadline that
// it was made with, which is later than the run's: the node's clock may tell
// another time, and need not be believed for that.
func ranOut(pod *corev1.Pod, limit time.Duration) bool {
	made := pod.Spec.ActiveDeadlineSeconds
	return pod.Status.Reason == "DeadlineExceeded" && made != nil && *made == activeDeadline(limit) && failed(pod)
}

// untilTimeout is how long the attempt may still take; 0 for ever.
func (d decision) untilTimeout(status crds.TaskRunStatus) time.Duration {
	limit := timeout(d.Run, d.config)
	if limit == 0 || status.StartTime == nil {
		return 0
	}
	return max(time.Millisecond, status.StartTime.Add(limit).Sub(d.now))
}
