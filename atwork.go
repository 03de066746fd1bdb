package main

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/wire"
)

// atWork tells which runs of a kind have not ended, by a facet of them: nothing is
// decoded for it.
type atWork struct {
	succeeded wire.Facet // the status of a run's condition
	runs      *indexer.Indexer
	byEnd     *indexer.Index[bool]
}

// newAtWork adds its index to the cache of runs, whose source has to be given the
// facet.
func newAtWork(runs *indexer.Indexer, succeeded wire.Facet) atWork {
	w := atWork{succeeded: succeeded, runs: runs}
	w.byEnd = indexer.AddIndex(runs, "ended", func(o *wire.Object, add func(bool)) { add(!w.run(o)) })
	return w
}

// count is how many are at work.
func (w atWork) count() int { return w.byEnd.Len(false) }

// run says whether a run has not ended. One whose facets are not known is
// taken for one that has not.
func (w atWork) run(o interface {
	Facet(wire.Facet) (string, bool)
},
) bool {
	status, _ := o.Facet(w.succeeded)
	return status != "True" && status != "False"
}

// owner says whether a run that owns the object has not ended. An owner is in the
// namespace of what it owns, so its name finds it, and its UID tells it from
// another of that name.
func (w atWork) owner(o *wire.Object) bool {
	for _, owner := range o.Owners() {
		key := types.NamespacedName{Namespace: o.Key().Namespace, Name: owner.Name}
		if run, ok := w.runs.Glance(key); ok && run.UID() == owner.UID && w.run(run) {
			return true
		}
	}
	return false
}

// mayOwn is owner, but as long as not all runs are known, each may be at work.
func (w atWork) mayOwn(o *wire.Object) bool {
	select {
	case <-w.runs.Synced():
		return w.owner(o)
	default:
		return true
	}
}
