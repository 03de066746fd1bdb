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
	at map[types.NamespacedName]settled
}

type settled struct {
	version string
	without string
	but     types.UID
}

// Is tells whether the key was settled in that version. It forgets keys that are
// there no more (the version is empty), or in another version.
func (s *Settled) Is(key types.NamespacedName, resourceVersion string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.at[key]
	if ok && known.version != resourceVersion {
		delete(s.at, key)
	}
	return ok && known.version == resourceVersion
}

// Without is the name of what the key was settled without: it is settled for as long as
// there is nothing of that name, or what has that UID. Empty where that is nothing, or the
// key is not settled.
func (s *Settled) Without(key types.NamespacedName) (name string, but types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.at[key]
	return known.without, known.but
}

// Add says that the key is settled in that version.
func (s *Settled) Add(key types.NamespacedName, resourceVersion string) {
	s.AddWithout(key, resourceVersion, "", "")
}

// AddWithout says that the key is settled in that version, unless something of that name
// comes: a cache that is behind may not have come to it. What has the name now and does not
// matter is of the UID but; empty if nothing has.
func (s *Settled) AddWithout(key types.NamespacedName, resourceVersion, without string, but types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at == nil {
		s.at = map[types.NamespacedName]settled{}
	}
	s.at[key] = settled{resourceVersion, without, but}
}

// Len is how many keys are settled.
func (s *Settled) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.at)
}
