package taskrun

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// recallFor is how long is believed what was read of secrets. A run that waits for
// quota is looked at every half minute at the least, by all whose turn it is.
const recallFor = time.Minute

// recall remembers what the secrets of an attempt are for until it has its pod, so
// that a run which waits does not have them all read again at each look. What is in
// them was never kept. Its size is that of the runs that wait.
type recall struct {
	mu sync.Mutex
	of map[types.NamespacedName]recollection
}

type recollection struct {
	attempt     sighting
	secrets     []string
	credentials []credential
	until       time.Time
}

// credentials are those of the attempt, if all of these secrets were read lately.
func (r *recall) credentials(run *crds.TaskRun, secrets []string, now time.Time) ([]credential, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.of[keyOf(run)]
	if !ok || known.attempt != (sighting{run.UID, podName(run)}) || !slices.Equal(known.secrets, secrets) || !now.Before(known.until) {
		return nil, false
	}
	return slices.Clone(known.credentials), true
}

func (r *recall) keep(run *crds.TaskRun, secrets []string, credentials []credential, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[types.NamespacedName]recollection{}
	}
	r.of[keyOf(run)] = recollection{sighting{run.UID, podName(run)}, secrets, slices.Clone(credentials), now.Add(recallFor)}
}

// look forgets runs that do not wait any more.
func (r *recall) look(key types.NamespacedName, o *observation) {
	if o == nil || o.Pod != nil || o.Run.IsDone() || o.Run.DeletionTimestamp != nil {
		r.forget(key)
	}
}

func (r *recall) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.of, key)
}

func keyOf(run *crds.TaskRun) types.NamespacedName {
	return types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
}
