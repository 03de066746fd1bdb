package taskrun

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A witness remembers attempts whose first step this process has seen begin, from
// then until the run says so itself and longer, until it has ended. The write that
// says so may fail, or wait its turn, and the pod be gone before: then nobody else
// knows. What no process has seen, nobody can know.
type witness struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]sighting
}

type sighting struct {
	run types.UID
	pod string // each attempt has its own
}

// look takes note of what is observed, and adds to it what was seen before.
func (w *witness) look(key types.NamespacedName, o *observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o == nil || o.Run.IsDone() {
		delete(w.seen, key)
		return
	}
	this := sighting{o.Run.UID, podName(o.Run)}
	if o.Pod != nil && madeFor(o.Pod) == this.run && podBegun(o.Pod) {
		w.addLocked(key, this)
	}
	o.Witnessed = w.seen[key] == this
}

func (w *witness) addLocked(key types.NamespacedName, s sighting) {
	if w.seen == nil {
		w.seen = map[types.NamespacedName]sighting{}
	}
	w.seen[key] = s
}

func (w *witness) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.seen, key)
}

// PodGone is told how a pod was seen last that is there no more, before its run is
// reconciled: the reconcile can no longer see that the pod had begun. So is a
// reconciler that does not work yet, and will find the run without a pod when it
// does. It may be called by any goroutine.
func (r *Reconciler) PodGone(pod *corev1.Pod) { r.witness.note(pod) }

// note takes note of a pod, if it has begun.
func (w *witness) note(pod *corev1.Pod) {
	run := pod.Labels[labelTaskRun]
	if controller := metav1.GetControllerOf(pod); controller != nil && controller.Kind == crds.KindTaskRun {
		run = controller.Name
	}
	if run == "" || madeFor(pod) == "" || !podBegun(pod) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.addLocked(types.NamespacedName{Namespace: pod.Namespace, Name: run}, sighting{madeFor(pod), pod.Name})
}

// madeFor is the UID of the run that a pod was made for. Its label outlives an owner
// reference that somebody has changed or taken away: such a pod is ours no more, and
// what it has begun has begun.
func madeFor(pod *corev1.Pod) types.UID {
	if uid := pod.Labels[labelTaskRunUID]; uid != "" {
		return types.UID(uid)
	}
	if controller := metav1.GetControllerOf(pod); controller != nil && controller.Kind == crds.KindTaskRun {
		return controller.UID
	}
	return ""
}

// RunEnded is told of a run that has ended or is there no more, also where it is
// not reconciled here: what is remembered of its pods is forgotten. It may be called
// by any goroutine.
func (r *Reconciler) RunEnded(key types.NamespacedName) { r.witness.forget(key) }

// hasBegun tells whether the attempt's first step is known to have begun.
func (o *observation) hasBegun(run *crds.TaskRun) bool {
	return o.Witnessed || begun(run.Status.Steps)
}
