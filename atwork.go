package main

import (
	"iter"

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

// run says whether a run has not ended. One of which that is not known is taken for one
// that has not: of one that has come past the scanner, or has conditions by the thousand.
func (w atWork) run(o interface {
	Facet(wire.Facet) (string, bool)
},
) bool {
	status, _ := o.Facet(w.succeeded)
	return status != "True" && status != "False"
}

// owner says whether a run that owns the object is known, and has not ended. While the
// first lists come, one may not be known yet: then what it owns is packed, and plain again
// when it is read for the third time. The other way round, all pods of a cluster would be
// plain at once if they are there before the runs.
func (w atWork) owner(o *wire.Object) bool {
	for run := range w.owners(o) {
		if w.run(run) {
			return true
		}
	}
	return false
}

// knows says whether a run that owns the object is in the cache. One that is not is
// gone, or the cache has not come to it yet.
func (w atWork) knows(o *wire.Object) bool {
	for range w.owners(o) {
		return true
	}
	return false
}

// comesLate is a predicate: it passes a run that was made for another one that has ended,
// and has not ended itself. Who was to make it died, and the server did as it had been
// told all the same, when the next one had ended what it was for.
func (w atWork) comesLate(c indexer.Change) bool {
	return c.Old == nil && c.New != nil && w.run(c.New) && w.knows(c.New) && !w.owner(c.New)
}

// ends is a predicate: it passes the end of a run.
func (w atWork) ends(c indexer.Change) bool {
	return c.Old != nil && c.New != nil && w.run(c.Old) && !w.run(c.New)
}

// owners are the runs in the cache that own an object. They are in the namespace of
// what they own, so their names find them, and their UIDs tell them from others of
// those names.
func (w atWork) owners(o *wire.Object) iter.Seq[indexer.Glance] {
	return func(yield func(indexer.Glance) bool) {
		for _, owner := range o.Owners() {
			key := types.NamespacedName{Namespace: o.Key().Namespace, Name: owner.Name}
			if run, ok := w.runs.Glance(key); ok && run.UID() == owner.UID && !yield(run) {
				return
			}
		}
	}
}
