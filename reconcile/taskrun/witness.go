package taskrun

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A witness remembers attempts whose first step this process has seen begin, from
// then until the run says so itself and longer, until it has ended. The write that
// says so may fail, and the pod be gone before it is tried again: then nobody else
// knows. What no process has seen, nobody can know.
type witness struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]sighting
}

type sighting struct {
	run     types.UID
	attempt int
}

// look takes note of what is observed, and adds to it what was seen before.
func (w *witness) look(key types.NamespacedName, o *observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o == nil || o.Run.IsDone() {
		delete(w.seen, key)
		return
	}
	this := sighting{o.Run.UID, attempt(o.Run)}
	if whose(o.Pod, o.Run) == ours && podBegun(o.Pod) {
		if w.seen == nil {
			w.seen = map[types.NamespacedName]sighting{}
		}
		w.seen[key] = this
	}
	o.Witnessed = w.seen[key] == this
}

// hasBegun tells whether the attempt's first step is known to have begun.
func (o *observation) hasBegun(run *crds.TaskRun) bool {
	return o.Witnessed || begun(run.Status.Steps)
}
