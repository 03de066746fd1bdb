package taskrun

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
)

// refusals remember until when a pod that was refused is not to be tried again. The
// queue would not: any news of the run is a reason to look at it, and somebody who
// writes to it 20 times a second is no reason to ask as often for the pod.
type refusals struct {
	mu    sync.Mutex
	until map[types.NamespacedName]refused
}

type refused struct {
	sighting

	at time.Time
}

// look adds to what is observed until when its pod is to be left alone.
func (r *refusals) look(key types.NamespacedName, o *observation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, ok := r.until[key]; ok && last.sighting == (sighting{o.Run.UID, podName(o.Run)}) && o.Pod == nil && !o.Run.IsDone() {
		o.NotBefore = last.at
		return
	}
	delete(r.until, key)
}

func (r *refusals) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.until, key)
}

// waits tells whether nothing is to be done now but to wait. A run that is to end
// does not wait for its pod.
func (o *observation) waits(now time.Time) bool {
	return o.NotBefore.After(now) && o.Run.Status.TaskSpec != nil && !o.Run.IsCancelled()
}

// note takes note of a refusal, and of when to try again.
func (r *refusals) note(key types.NamespacedName, o *observation, result reconcile.Result, now time.Time) {
	if o.Refused == nil || result.RequeueAfter <= 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[types.NamespacedName]refused{}
	}
	r.until[key] = refused{sighting{o.Run.UID, podName(o.Run)}, now.Add(result.RequeueAfter)}
}
