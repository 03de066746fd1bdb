package taskrun

import (
	"slices"
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
	// unknown are keys of runs that were in no cache when they were noted: each may be
	// of a run that is gone, of which nobody will tell any more. turn has them in the
	// order in which they go, and some that are known by now.
	unknown map[types.NamespacedName]bool
	turn    []types.NamespacedName
}

// mostUnknown of them are remembered, which is about 1 MB. A run that the cache of runs
// has not come to yet is one of the last.
const mostUnknown = 4096

type sighting struct {
	run types.UID
	pod string // each attempt has its own
}

// look takes note of what is observed, and adds to it what was seen before. A run that
// is not there may be one that the cache has not come to.
func (w *witness) look(key types.NamespacedName, o *observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o == nil {
		w.doubtLocked(key)
		return
	}
	delete(w.unknown, key)
	if o.Run.IsDone() {
		delete(w.seen, key)
		return
	}
	this := sighting{o.Run.UID, podName(o.Run)}
	if o.Pod != nil && madeFor(o.Pod) == this.run && podBegun(o.Pod) {
		w.addLocked(key, this)
	}
	o.Witnessed = w.seen[key] == this
}

// doubtLocked bounds what is remembered of runs that nobody knows.
func (w *witness) doubtLocked(key types.NamespacedName) {
	if _, seen := w.seen[key]; !seen || w.unknown[key] {
		return
	}
	if again := slices.Index(w.turn, key); again >= 0 { // it was known for a while, and its turn is another
		w.turn = slices.Delete(w.turn, again, again+1)
	}
	if len(w.turn) == mostUnknown {
		if first := w.turn[0]; w.unknown[first] {
			delete(w.seen, first)
			delete(w.unknown, first)
		}
		w.turn = slices.Delete(w.turn, 0, 1)
	}
	if w.unknown == nil {
		w.unknown = map[types.NamespacedName]bool{}
	}
	w.unknown[key] = true
	w.turn = append(w.turn, key)
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
	delete(w.unknown, key)
}

// PodGone is told how a pod was seen last that is there no more, before its run is
// reconciled: the reconcile can no longer see that the pod had begun. So is a
// reconciler that does not work yet, and will find the run without a pod when it
// does. It may be called by any goroutine.
//
// known says whether its run is in the cache. One that is not may be gone, or may come
// yet: the cache of runs may be behind that of pods by as long as a list takes, and who
// takes over then would do the pod's steps again (seed 420).
func (r *Reconciler) PodGone(pod *corev1.Pod, known bool) { r.witness.note(pod, known) }

// note takes note of a pod, if it has begun.
func (w *witness) note(pod *corev1.Pod, known bool) {
	run := pod.Labels[labelTaskRun]
	if controller := metav1.GetControllerOf(pod); controller != nil && controller.Kind == crds.KindTaskRun {
		run = controller.Name
	}
	if run == "" || madeFor(pod) == "" || !podBegun(pod) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := types.NamespacedName{Namespace: pod.Namespace, Name: run}
	w.addLocked(key, sighting{madeFor(pod), pod.Name})
	if !known {
		w.doubtLocked(key)
	}
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
// not reconciled here: what is remembered of it is forgotten. It may be called by any
// goroutine.
func (r *Reconciler) RunEnded(key types.NamespacedName) { r.forget(key) }

// hasBegun tells whether the attempt's first step is known to have begun.
func (o *observation) hasBegun(run *crds.TaskRun) bool {
	return o.Witnessed || begun(run.Status.Steps)
}
