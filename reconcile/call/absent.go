package call

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// AbsentFor is how long a run is left alone that the server has no more, though the
// cache has it still. The end of it is on its way; should it not be (whoever answered
// was mistaken), the run is looked at again then.
const AbsentFor = 10 * time.Second

// Absent remembers such runs. A cache that is behind shows one as if it were at work,
// and whoever believed that would make its children again; one that catches up has the
// run's past told event by event, each of them a reason to write what nobody can be told.
// It may be used by any goroutine, and its zero value remembers nothing.
type Absent struct {
	mu sync.Mutex
	of map[types.NamespacedName]absence
}

type absence struct {
	uid   types.UID
	until time.Time
}

// Note takes note that the server has no such run any more, of which the cache has uid.
func (a *Absent) Note(key types.NamespacedName, uid types.UID, now time.Time) {
	if uid == "" {
		return // the cache knows as much
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[types.NamespacedName]absence{}
	}
	a.of[key] = absence{uid, now.Add(AbsentFor)}
}

// Look is asked before each look at a run of which the cache has uid. It tells how long
// to leave the run alone, and when that is over, that the server is to be asked first:
// the cache has not come to the run's end.
func (a *Absent) Look(key types.NamespacedName, uid types.UID, now time.Time) (wait time.Duration, ask bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, noted := a.of[key]
	switch {
	case !noted:
		return 0, false
	case last.uid != uid:
		delete(a.of, key)
		return 0, false
	case last.until.After(now):
		return last.until.Sub(now), false
	default:
		return 0, true
	}
}

// Found takes note that the server has the run.
func (a *Absent) Found(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.of, key)
}
