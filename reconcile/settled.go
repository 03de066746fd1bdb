package reconcile

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Settled are keys for which nothing is left to do: the run has ended, and so has
// what it made. Each is known by the resource version at which that was seen, so
// that neither a resync nor the news that a child is gone costs more than looking it
// up. It is a convenience: without it each would be decoded to find the same.
//
// Its zero value is empty, and all methods may be called from anywhere.
type Settled struct {
	mu sync.Mutex
	at map[types.NamespacedName]string
}

// Is tells whether the key was settled in that version. It forgets keys that are
// there no more (the version is empty), or in another version.
func (s *Settled) Is(key types.NamespacedName, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.at[key]
	if ok && known != resourceVersion {
		delete(s.at, key)
	}
	return ok && known == resourceVersion
}

// Add says that the key is settled in that version.
func (s *Settled) Add(key types.NamespacedName, resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[types.NamespacedName]string{}
	}
	s.at[key] = resourceVersion
}

// Len is how many keys are settled.
func (s *Settled) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at)
}
