package taskrun

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// settles tells whether a plan is the last one for its run: it has ended, and so has
// its pod.
func (o *observation) settles(p Plan) bool {
	if !o.Run.IsDone() || len(p.Actions) > 0 || p.asks() || p.Requeue > 0 || o.PodUncached {
		return false
	}
	return whose(o.Pod, o.Run) != ours || o.Pod.Status.Phase == corev1.PodSucceeded || o.Pod.Status.Phase == corev1.PodFailed
}

// lacking is the pod that a run is settled without: it has gone, or the cache, which may
// be older than what the run says, has not come to it. Empty for one that has ended.
func (o *observation) lacking() string {
	if whose(o.Pod, o.Run) == ours {
		return ""
	}
	return podName(o.Run)
}

// podCame tells that the cache has the pod that the run was settled without: who died
// before a pod was stopped leaves it to whoever is shown it, however late.
func (r *Reconciler) podCame(key types.NamespacedName) bool {
	name := r.settled.Without(key)
	if name == "" {
		return false
	}
	_, there, err := r.parts.Caches.Pod(types.NamespacedName{Namespace: key.Namespace, Name: name})
	return there || err != nil
}
