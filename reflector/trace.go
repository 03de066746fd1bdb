package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/hook"
	"millrace/wire"
)

// Trace is a set of hooks, each optional, for metrics and debug pages. They are
// called by the goroutine of Run; Refused and Released also by the one that asks
// for what is in quarantine, and Resynced by the one that keeps the resync timer.
// They must not block: the stream waits for them. They may call Status and
// Quarantine.
type Trace struct {
	// Moved: the state changed.
	Moved func(from, to State)
	// Listed: a list was complete and the sink has committed it.
	Listed func(List)
	// Event: an event of a watch was given to the sink, bookmarks included;
	// the initial events of a streaming list are not among them.
	Event func(wire.EventType)
	// Failed: an exchange failed; called once for each pause.
	Failed func(Failure)
	// Refused: an object was not taken in. Nothing else tells of it.
	Refused func(Refusal)
	// Quarantined: the sink lacks the newest state of a key; called once, however
	// often the object is refused. Released: it has it, or there is no such object
	// any more. What is in quarantine is what the first was called for and the
	// second not yet.
	Quarantined func(Refusal)
	Released    func(Quarantined)
	// Sharded: whether the server selects by Config.ShardSelector was found out;
	// called once, before the first list, if there is a selector.
	Sharded func(bool)
	// Resynced: the sink was asked to replay.
	Resynced func()
}

// Then is the Trace of both: each hook of t is called, then that of other. A hook that
// neither has stays nil.
func (t Trace) Then(other Trace) Trace {
	return Trace{
		Moved:       hook.Two(t.Moved, other.Moved),
		Listed:      hook.One(t.Listed, other.Listed),
		Event:       hook.One(t.Event, other.Event),
		Failed:      hook.One(t.Failed, other.Failed),
		Refused:     hook.One(t.Refused, other.Refused),
		Quarantined: hook.One(t.Quarantined, other.Quarantined),
		Released:    hook.One(t.Released, other.Released),
		Sharded:     hook.One(t.Sharded, other.Sharded),
		Resynced:    hook.Zero(t.Resynced, other.Resynced),
	}
}

// List describes a complete list.
type List struct {
	// Cause is why it was made.
	Cause RelistCause
	// Streamed: by a watch-list, not in pages.
	Streamed bool
	// Pages is the number of requests, Items the number of objects given to
	// the sink, refused ones included.
	Pages, Items int
	// Took is the time from the first request to the commit.
	Took time.Duration
}

// Failure describes an exchange that failed.
type Failure struct {
	// In is the state in which it happened.
	In State
	// Err is what happened.
	Err error
	// Failures is how many there have been in a row, this one included.
	Failures int
	// Wait is the pause that follows.
	Wait time.Duration
}

// Refusal describes an object that the server sent and the sink does not have:
// it could not be read (then Key may be empty), or the sink returned an error.
// The watch goes on, and the object is asked for again by its key. Where that
// could not be read, or too many are in quarantine, a list follows when the watch
// ends, instead of another watch.
type Refusal struct {
	// Event is what the server said of it; empty for an item of a list, and
	// for an event that could not be read.
	Event wire.EventType
	// Key and ResourceVersion are the object's, or what could be made out of
	// them.
	Key             types.NamespacedName
	ResourceVersion string
	Err             error
}

func (t Trace) moved(from, to State) {
	if t.Moved != nil {
		t.Moved(from, to)
	}
}

func (t Trace) listed(l List) {
	if t.Listed != nil {
		t.Listed(l)
	}
}

func (t Trace) event(e wire.EventType) {
	if t.Event != nil {
		t.Event(e)
	}
}

func (t Trace) failed(f Failure) {
	if t.Failed != nil {
		t.Failed(f)
	}
}

func (t Trace) refused(f Refusal) {
	if t.Refused != nil {
		t.Refused(f)
	}
}

func (t Trace) quarantined(f Refusal) {
	if t.Quarantined != nil {
		t.Quarantined(f)
	}
}

func (t Trace) released(q Quarantined) {
	if t.Released != nil {
		t.Released(q)
	}
}

func (t Trace) sharded(s bool) {
	if t.Sharded != nil {
		t.Sharded(s)
	}
}

func (t Trace) resynced() {
	if t.Resynced != nil {
		t.Resynced()
	}
}
