package workqueue

import (
	"time"

	"millrace/internal/hook"
)

// Trace is what a queue tells whoever watches it. Every field may be nil.
//
// The funcs are called with the queue's lock held, so that they are told in
// the order in which things happened: they must be quick (set a gauge, observe
// a histogram), and must not call the queue.
type Trace[K comparable] struct {
	// OnAsk: somebody has asked for a run, in whatever form, and this is what came
	// of it. It is told also where nothing did: the key was ready already, or
	// backs off.
	OnAsk func(key K, asked Asked)
	// OnReady: a key needs a run now, and did not before. This is
	// workqueue_adds_total.
	OnReady func(key K)
	// OnGet: a worker took a key, which had been ready, or dirty in another
	// worker's hands, for so long: workqueue_queue_duration_seconds.
	OnGet func(key K, waited time.Duration)
	// OnDone: a worker gave a key back after so long:
	// workqueue_work_duration_seconds.
	OnDone func(key K, worked time.Duration)
	// OnRetry: a key failed for the failures-th time in a row and was told to
	// stay away for delay (it may come earlier: see the table of states).
	// client-go's workqueue_retries_total counts these and every AddAfter:
	// Stats.Retries + Stats.Delays.
	OnRetry func(key K, failures int, delay time.Duration)
	// OnUnpairedDone: Done for a key that no worker has; it was ignored.
	OnUnpairedDone func(key K)
}

// Then is the Trace of both: each hook of t is called, then that of other. A hook that
// neither has stays nil.
func (t Trace[K]) Then(other Trace[K]) Trace[K] {
	return Trace[K]{
		OnAsk:          hook.Two(t.OnAsk, other.OnAsk),
		OnReady:        hook.One(t.OnReady, other.OnReady),
		OnGet:          hook.Two(t.OnGet, other.OnGet),
		OnDone:         hook.Two(t.OnDone, other.OnDone),
		OnRetry:        hook.Three(t.OnRetry, other.OnRetry),
		OnUnpairedDone: hook.One(t.OnUnpairedDone, other.OnUnpairedDone),
	}
}

// Asked is one ask for a run, and what it made of the key.
type Asked struct {
	// Cause is as it was given. Its First is when the caller says that the event
	// reached the process; zero if he does not say.
	Cause Cause
	// Urgent and Low: it came by AddUrgent, by AddLow.
	Urgent, Low bool
	// From is the state of the key before, To the one after. The same state twice
	// means that this ask shares a run that was to come anyway, or, of a key that
	// backs off, that it has to wait for the backoff's end.
	From, To State
	// Due is when the delay or the backoff ends that the key has now; zero if it
	// has none. Of a key that is being processed: not before its Done.
	Due time.Time
}

// Stats is the queue at one moment. The counters begin at New and only grow.
type Stats struct {
	// Keys in each state. Ready contains ReadyLow. workqueue_depth is
	// Ready + Dirty: client-go counts a key that was added while processing.
	Ready, ReadyLow, Waiting, BackingOff, Processing, Dirty int
	// Troubled is how many of those BackingOff a Release would let run sooner.
	Troubled int
	// Remembered is how many idle keys have failures that nobody has forgotten.
	Remembered int

	Adds    uint64 // times that a key came to need a run: Trace.OnReady
	Retries uint64 // calls of AddRateLimited, AddRateLimitedWithin and AddTroubled
	Delays  uint64 // calls of AddAfter and HoldBack
	// Releases is how many backoffs were ended early by Release.
	Releases uint64
	// UnpairedDones is how often Done was called for a key that no worker had.
	UnpairedDones uint64

	// UnfinishedWork is how long the keys at work have been so, added up;
	// LongestRunning is the longest of them. They are computed when Stats is
	// called, so nothing ticks for them.
	UnfinishedWork, LongestRunning time.Duration
}

// Explanation is what the queue knows about one key.
type Explanation struct {
	State State
	// Ahead: its next run goes before those of its namespace that nobody wants
	// urgently. Low: it comes through the low lane.
	Ahead, Low bool
	// Failures since the last Forget or Reset.
	Failures int
	// Due is when it becomes ready; zero unless a delay or a backoff is
	// pending. Of a key that is being processed: not before its Done.
	Due time.Time
	// ReadySince is when it came to need a run, of Ready and Dirty.
	ReadySince time.Time
	// ProcessingSince is when a worker took it, of Processing and Dirty.
	ProcessingSince time.Time
	// Causes of the next run, and of the run at work. Copies. While Due is in
	// the future, the cause of that delay is the last of Causes: if anything
	// brings the key sooner, it will not be told.
	Causes, Running []Cause
}
