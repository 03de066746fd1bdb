package reconcile

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// echoes is what reconciles have written of late: the resourceVersions, by key,
// until the key runs again. So a run whose only causes are those writes is known
// for one that nobody else has asked for. It is bounded, since who never hears of
// its own writes never asks: after manyEchoes keys, the half that wrote first
// is forgotten, and at worst a hot loop is found out some runs later.
type echoes struct {
	keys  map[types.NamespacedName][]string
	order []types.NamespacedName // as they came; some are gone, or have come again
}

const (
	manyEchoes = 1024
	// keptEchoes is how many writes of one run are remembered: the latest.
	keptEchoes = 8
)

func (e *echoes) note(key types.NamespacedName, resourceVersion string) {
	if e.keys == nil {
		e.keys = map[types.NamespacedName][]string{}
	}
	versions, known := e.keys[key]
	if slices.Contains(versions, resourceVersion) {
		return
	}
	if !known {
		e.makeRoom()
		e.order = append(e.order, key)
	}
	if len(versions) == keptEchoes {
		versions = slices.Delete(versions, 0, 1)
	}
	e.keys[key] = append(versions, resourceVersion)
}

// makeRoom forgets those who wrote first, if there are many.
func (e *echoes) makeRoom() {
	if len(e.order) < manyEchoes {
		return
	}
	for _, key := range e.order[:manyEchoes/2] {
		delete(e.keys, key)
	}
	e.order = slices.Delete(e.order, 0, manyEchoes/2)
}

// take is what a key wrote when it ran last, and forgets it.
func (e *echoes) take(key types.NamespacedName) []string {
	versions := e.keys[key]
	delete(e.keys, key)
	return versions
}
