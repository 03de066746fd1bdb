package pipelinerun

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A memory is of runs that go on, as the last reconcile left them: what it has written
// itself it need not decode, which it would once for each child that ends, and the more
// children a run has the larger it is. What is remembered counts as long as the cache
// has the same resource version, and whoever reconciles a key has taken it out: one
// worker at a time does, so it is nobody else's. It is a convenience: without it each
// reconcile would decode the same.
type memory struct {
	mu   sync.Mutex
	runs map[types.NamespacedName]remembered
}

// remembered is a run, and what follows from it.
type remembered struct {
	run    *crds.PipelineRun
	graph  *drawing // of its status.pipelineSpec
	tally  *tally   // of its runs
	sights []sight  // of its children, by their kind
	// confirmed is an observation's: whoever has written the run since, it is another version.
	confirmed bool
	// gone are its children that the server has not any more. One that somebody puts back
	// the cache shows.
	gone map[string]bool
}

// take is the run if it is remembered in that life and version. In any other it is
// forgotten.
func (m *memory) take(key types.NamespacedName, uid types.UID, resourceVersion string) remembered {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.runs[key]
	delete(m.runs, key)
	if known.run == nil || known.run.UID != uid || known.run.ResourceVersion != resourceVersion {
		return remembered{}
	}
	return known
}

// keep remembers a run that goes on, if it could be read.
func (m *memory) keep(key types.NamespacedName, o *observation) {
	if o.Run.IsDone() || o.Unreadable != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.runs == nil {
		m.runs = map[types.NamespacedName]remembered{}
	}
	m.runs[key] = remembered{o.Run, o.Graph, o.Tally, o.sights, o.Confirmed, o.Gone}
}
