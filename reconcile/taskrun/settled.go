package taskrun

import corev1 "k8s.io/api/core/v1"

// settles tells whether a plan is the last one for its run: it has ended, and so has
// its pod.
func (o *observation) settles(p Plan) bool {
	if !o.Run.IsDone() || len(p.Actions) > 0 || p.asks() || p.Requeue > 0 || o.PodUncached {
		return false
	}
	return whose(o.Pod, o.Run) != ours || o.Pod.Status.Phase == corev1.PodSucceeded || o.Pod.Status.Phase == corev1.PodFailed
}
