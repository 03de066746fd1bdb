package reflector

import "time"

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
	// Refused counts objects that were not taken in.
	Refused uint64
	// Err is what keeps it from reflecting now; nil when nothing does.
	Err error
}

// Status may be called at any time from any goroutine.
func (r *Reflector) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// State is Status().State.
func (r *Reflector) State() State { return r.Status().State }

// LastError is why the reflector is not up to date, as far as it knows: the
// 403 of a missing grant, the 404 of a missing CRD, a refused connection. It
// is nil once a list is complete and the watch after it was accepted. Whoever
// waits for the first sync in vain should print it (controller-runtime #1653:
// a wait that hung for ever and never said why).
func (r *Reflector) LastError() error { return r.Status().Err }

// enter makes a position visible.
func (r *Reflector) enter(p position) {
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
