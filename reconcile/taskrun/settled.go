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
// be older than what the run says, has not come to it. Empty for one that has ended. What
// has its name and is somebody else's is but.
func (o *observation) lacking() (name string, but types.UID) {
	if whose(o.Pod, o.Run) == ours {
		return "", ""
	}
	if o.Pod != nil {
		but = o.Pod.UID
	}
	return podName(o.Run), but
}

// podCame tells that the cache has the pod that the run was settled without: who died
// before a pod was stopped leaves it to whoever is shown it, however late.
func (r *Reconciler) podCame(key types.NamespacedName) bool {
	name, but := r.settled.Without(key)
	if name == "" {
		return false
	}
	uid, _, there := r.parts.Caches.KnownPod(types.NamespacedName{Namespace: key.Namespace, Name: name})
	return there && uid != but
}
