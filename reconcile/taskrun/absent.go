package taskrun

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// absentFor is how long a run is left alone that the server has no more, though the
// cache has it still. The end of it is on its way; should it not be (whoever answered
// was mistaken), the run is looked at again then.
const absentFor = 10 * time.Second

// absent remembers them: a cache that catches up has the run's past told event by
// event, each of them a reason to write what nobody can be told.
type absent struct {
	mu sync.Mutex
	of map[types.NamespacedName]absence
}

type absence struct {
	uid   types.UID
	until time.Time
}

func (a *absent) note(key types.NamespacedName, uid types.UID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[types.NamespacedName]absence{}
	}
	a.of[key] = absence{uid, now.Add(absentFor)}
}

// wait is how long to leave the run alone that the cache has; 0 for not at all.
func (a *absent) wait(key types.NamespacedName, uid types.UID, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.of[key]
	if ok && last.uid == uid && last.until.After(now) {
		return last.until.Sub(now)
	}
	delete(a.of, key)
	return 0
}
