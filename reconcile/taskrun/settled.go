package taskrun

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// settled are the runs for which nothing is left to do: they have ended, and so
// have their pods. Each is known by the resource version at which that was seen, so
// that neither a resync nor the news that its pod is gone costs more than looking it
// up. It is a convenience: without it each would be decoded to find the same.
type settled struct {
	mu sync.Mutex
	at map[types.NamespacedName]string
}

// is forgets runs that are there no more, or in another version.
func (s *settled) is(key types.NamespacedName, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.at[key]
	if ok && known != resourceVersion {
		delete(s.at, key)
	}
	return ok && known == resourceVersion
}

func (s *settled) add(key types.NamespacedName, resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[types.NamespacedName]string{}
	}
	s.at[key] = resourceVersion
}

// settles tells whether a plan is the last one for its run.
func (o *observation) settles(p Plan) bool {
	if !o.Run.IsDone() || len(p.Actions) > 0 || len(p.Lookups) > 0 || p.ReadLog || p.Inquire || p.Requeue > 0 || o.PodUncached {
		return false
	}
	return whose(o.Pod, o.Run) != ours || o.Pod.Status.Phase == corev1.PodSucceeded || o.Pod.Status.Phase == corev1.PodFailed
}
