package main

import (
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/wire"
)

// atWork tells which TaskRuns have not ended, by a facet of them: nothing is
// decoded for it.
type atWork struct {
	succeeded wire.Facet // of a TaskRun: the status of its condition
	byUID     *indexer.Index[types.UID]
	byEnd     *indexer.Index[bool]
}

// newAtWork adds its indices to the cache of TaskRuns, whose source has to be
// given the facet.
func newAtWork(taskRuns *indexer.Indexer, succeeded wire.Facet) atWork {
	w := atWork{succeeded: succeeded}
	w.byUID = indexer.AddIndex(taskRuns, "uid", func(o *wire.Object, add func(types.UID)) { add(o.UID()) })
	w.byEnd = indexer.AddIndex(taskRuns, "ended", func(o *wire.Object, add func(bool)) { add(!w.run(o)) })
	return w
}

// count is how many TaskRuns are at work.
func (w atWork) count() int { return w.byEnd.Len(false) }

// run says whether a TaskRun has not ended. One whose facets are not known is
// taken for one that has not.
func (w atWork) run(o interface {
	Facet(wire.Facet) (string, bool)
},
) bool {
	status, _ := o.Facet(w.succeeded)
	return status != "True" && status != "False"
}

// owner says whether a run that owns the object has not ended.
func (w atWork) owner(o *wire.Object) bool {
	for _, owner := range o.Owners() {
		for _, run := range w.byUID.Glances(owner.UID) {
			if w.run(run) {
				return true
			}
		}
	}
	return false
}
