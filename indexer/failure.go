package indexer

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// IndexFailure is an object that an index function has panicked over: the index
// does not find it, until a new state of it comes that the function takes.
type IndexFailure struct {
	Index string
	Key   types.NamespacedName
	Err   error // what the panic said
}

// Failures is the failures that stand, by index in the order in which they were
// added, then by key.
func (x *Indexer) Failures() []IndexFailure {
	x.mu.Lock()
	defer x.mu.Unlock()
	var all []IndexFailure
	for _, i := range x.indices {
		all = append(all, i.failures()...)
	}
	return all
}

// failLocked counts a failure. The first one of an index is to be logged: the
// others most likely say the same, and there may be fifty thousand.
func (x *Indexer) failLocked(f IndexFailure) {
	x.failed.Add(1)
	if known := x.names[f.Index]; !known.failed {
		known.failed = true
		x.unheard = append(x.unheard, f)
	}
}

// logFailures logs what has not been logged, if there are more failures than
// were seen, and returns how many there are. Only Run calls it.
func (x *Indexer) logFailures(ctx context.Context, seen int64) int64 {
	now := x.failed.Load()
	if now == seen {
		return now
	}
	x.mu.Lock()
	unheard := x.unheard
	x.unheard = nil
	x.mu.Unlock()
	for _, f := range unheard {
		klog.FromContext(ctx).Error(f.Err, "Index function panicked; the index does without the object",
			"indexer", x.name, "index", f.Index, "object", f.Key)
	}
	return now
}
