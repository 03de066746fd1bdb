package reflector

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Status is where a Reflector stands, for debug pages and metrics.
type Status struct {
	// State is what it is doing, Since when it began to.
	State State
	Since time.Time
	// ResourceVersion is the last one that the sink was told; empty before the
	// first list is complete.
	ResourceVersion string
	// LastEvent is when the server was last heard in a watch, bookmarks
	// included. More than a minute and a half ago is odd.
	LastEvent time.Time
	// Sharded: the server selects by Config.ShardSelector. False until it has said
	// so, and without a selector.
	Sharded bool
	// Refused counts objects that were not taken in. Quarantined is how many keys
	// the sink lacks the newest state of for that reason; see Quarantine.
	Refused     uint64
	Quarantined int
	// Err is what keeps it from reflecting now; nil when nothing does.
	Err error
}

// Status may be called at any time from any goroutine.
func (r *Reflector) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := r.status
	status.Quarantined = len(r.quarantine.keys)
	return status
}

// Quarantine is what the sink lacks the newest state of, sorted by key: at most
// 1000 objects. Like Status, it may be called at any time from any goroutine.
func (r *Reflector) Quarantine() []Quarantined {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quarantine.all()
}

// State is Status().State.
func (r *Reflector) State() State { return r.Status().State }

// LastError is why the reflector is not up to date, as far as it knows: the
// 403 of a missing grant, the 404 of a missing CRD, a refused connection. It
// is nil once a list is complete and the watch after it was accepted. Whoever
// waits for the first sync in vain should print it (controller-runtime #1653:
// a wait that hung for ever and never said why).
func (r *Reflector) LastError() error { return r.Status().Err }

// Stuck says that the loop of Run is dead: it has taken no step and read nothing for
// so long that no server and no network can be the reason. A silent server is cut
// after Config.SilenceTimeout, and a pause has an end; what is left is a sink or a
// hook that does not return. It is nil while the loop is well, before Run and after
// it, whatever the server does. Nobody but a new process can mend it.
func (r *Reflector) Stuck() error {
	idle := r.age() - time.Duration(r.lastMove.Load())
	if longest := r.cfg.longestIdle(); idle > longest && r.State() != Stopped {
		return fmt.Errorf("the reflector of %s has not moved for %v, and never needs more than %v", r.resource, idle.Round(time.Second), longest)
	}
	return nil
}

// longestIdle is twice what a loop that is well can be without a move.
func (c Config) longestIdle() time.Duration {
	return 2 * max(c.SilenceTimeout, c.Backoff.Max+longestRetryAfter)
}

// age is how long the reflector exists, by a clock that stands while the machine
// sleeps: a laptop that wakes up is not stuck.
func (r *Reflector) age() time.Duration { return time.Since(r.made) }

// moved notes that the loop is alive.
func (r *Reflector) moved() { r.lastMove.Store(int64(r.age())) }

// enter makes a position visible.
func (r *Reflector) enter(p position) {
	r.moved()
	r.mu.Lock()
	from := r.status.State
	if from != p.state {
		r.status.Since = time.Now()
	}
	r.status.State, r.status.Err, r.status.ResourceVersion = p.state, p.err, p.rv
	r.mu.Unlock()

	if from != p.state {
		r.cfg.Trace.moved(from, p.state)
	}
}

// reached notes an event of a watch.
func (r *Reflector) reached(resourceVersion string) {
	now := time.Now()
	r.mu.Lock()
	r.status.LastEvent, r.status.ResourceVersion = now, resourceVersion
	r.mu.Unlock()
}

// opened notes that the server accepted a watch.
func (r *Reflector) opened() {
	r.mu.Lock()
	r.status.Err = nil
	r.mu.Unlock()
}

// refuse counts and tells of an object that was not taken in.
func (r *Reflector) refuse(f Refusal) {
	r.mu.Lock()
	r.status.Refused++
	r.mu.Unlock()
	r.cfg.Trace.refused(f)
}

// confine puts the key of what was refused into quarantine. It reports false if
// there is no place for it there: then only a list will bring the object.
func (r *Reflector) confine(f Refusal) bool {
	r.mu.Lock()
	fresh, ok := r.quarantine.put(f, time.Now())
	r.mu.Unlock()
	if fresh {
		r.cfg.Trace.quarantined(f)
		select {
		case r.confinement <- struct{}{}:
		default: // it has been woken already
		}
	}
	return ok
}

// release lets a key out of quarantine, if it is there.
func (r *Reflector) release(key types.NamespacedName) {
	r.mu.Lock()
	was, ok := r.quarantine.release(key)
	r.mu.Unlock()
	if ok {
		r.cfg.Trace.released(was)
	}
}

// stamp is that of the last refusal so far.
func (r *Reflector) stamp() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quarantine.stamp
}

// releaseBefore lets out whom a complete list has not shown: they are gone.
func (r *Reflector) releaseBefore(stamp uint64) {
	r.mu.Lock()
	keys := r.quarantine.before(stamp)
	r.mu.Unlock()
	for _, key := range keys {
		r.release(key)
	}
}

// lacks reports whether there is something in quarantine that only a list can
// bring.
func (r *Reflector) lacks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.quarantine.unanswered()
}
