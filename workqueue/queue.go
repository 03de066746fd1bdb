package workqueue

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"
)

// ErrShutDown is what Get returns when the queue has been shut down and has
// nothing left to hand out.
var ErrShutDown = errors.New("workqueue is shut down")

const (
	// keepIdle is how many idle keys stay because they may come again soon, so
	// that a key of a busy controller costs no allocation and no new place in
	// the table: as many as most controllers have objects, and half a megabyte.
	keepIdle = 4096
	// keepSpare is how many more of them, of reasons and of holds stay to be used
	// again for others: enough for the keys that are ready or at work, at most
	// times, and 200 KB.
	keepSpare = 512
	// ringBatch is how many due keys are made ready under one hold of the
	// lock, so that 100,000 keys due at once do not stop the workers.
	ringBatch = 512
	// shrinkFrom is the size from which the heap gives memory back.
	shrinkFrom = 4096
)

// Config of a Queue. Its zero value works.
type Config[K comparable] struct {
	// Name appears in errors and is the name label of the metrics.
	Name string
	// Limiter of AddRateLimited. Default: DefaultLimiter().
	Limiter Limiter
	// Namespace says who a key belongs to; those who have keys ready take
	// turns. It is called with the lock held, when the queue first hears of a
	// key, and must always say the same about it. Default: nil, all keys belong
	// to one.
	Namespace func(K) string
	// LowEvery is the aging bound of the low lane: of every LowEvery keys that
	// are handed out while both lanes have some, one is low. Default: 8, which
	// leaves news seven eighths of the workers after a restart. 1 serves the
	// low lane first.
	LowEvery int
	// PlainEvery is the aging bound within a namespace: of every PlainEvery keys
	// of it that are handed out while both wait, keys that somebody wants
	// urgently and keys of the same lane that nobody does, one is of the latter.
	// Default: 4. A run that was begun ends once, so that in a flood half would
	// do. 1 serves the latter first.
	PlainEvery int
	// MaxCauses bounds the causes kept for one run of one key; the last of them
	// counts the others. Default: 8. The least is 2.
	MaxCauses int
	// MaxRemembered bounds the idle keys whose failures are remembered: keys
	// that failed and were then never forgotten. Beyond it, the one that has
	// been idle longest is forgotten. Default: 10000.
	MaxRemembered int
	// Trace gets the queue's news. Default: nobody.
	Trace Trace[K]
}

func (c Config[K]) withDefaults() Config[K] {
	if c.Limiter == nil {
		c.Limiter = DefaultLimiter()
	}
	if c.Namespace == nil {
		c.Namespace = func(K) string { return "" }
	}
	if c.LowEvery <= 0 {
		c.LowEvery = 8
	}
	if c.PlainEvery <= 0 {
		c.PlainEvery = 4
	}
	if c.MaxCauses <= 0 {
		c.MaxCauses = 8
	}
	c.MaxCauses = max(c.MaxCauses, 2)
	if c.MaxRemembered <= 0 {
		c.MaxRemembered = 10_000
	}
	return c
}

// Queue holds the keys that need a run. See the package's documentation for
// what it promises. Every method may be called by any number of goroutines.
type Queue[K comparable] struct {
	cfg   Config[K]
	epoch time.Time // of the queue's own nanoseconds, which follow the monotonic clock

	mu   sync.Mutex
	keys table[K] // every key that is not idle, and those of rested and remembered
	last int64    // the latest of the times at which something happened

	// Where the entries hang; see entry.
	ready      lanes[K]
	delayed    delayed[K]
	troubled   list[K] // those of delayed whose wish has a floor; who failed first is first
	working    list[K]
	rested     list[K] // the last to become idle without failures, at most keepIdle + keepSpare
	remembered list[K] // idle, with failures, at most Config.MaxRemembered

	reasons reasons
	holds   []*hold // to use again, at most keepSpare

	alarm   alarm
	orders  uint32
	waiters []chan struct{} // one for each Get that waits; each has room for one signal
	idlers  []chan struct{} // waiters to use again

	down    bool
	drained chan struct{} // closed when down, and nothing is ready or at work

	counts                                         [states]int
	adds, retries, delays, releases, unpairedDones uint64

	nextRelease int64 // Release lets nobody go before
}

// New makes a queue. It starts nothing: there is no goroutine to leak if the
// queue is never used.
func New[K comparable](cfg Config[K]) *Queue[K] {
	return &Queue[K]{
		cfg:     cfg.withDefaults(),
		epoch:   time.Now(),
		keys:    newTable[K](),
		ready:   lanes[K]{tenants: map[string]*tenant[K]{}},
		drained: make(chan struct{}),
	}
}

// Name is Config.Name.
func (q *Queue[K]) Name() string { return q.cfg.Name }

// Add asks for a run of key: now if it is idle or waiting, after Done if it is
// being processed, and not before its time if it is backing off.
func (q *Queue[K]) Add(key K, c Cause) { q.ask(key, wish{state: Ready}, &c) }

// AddLow is Add for a key that nothing has happened to (the initial list, a
// resync): news go first. A key is low only while everyone who asked for its
// next run was.
func (q *Queue[K]) AddLow(key K, c Cause) {
	q.ask(key, wish{state: Ready, marks: ofLow}, &c)
}

// AddUrgent is Add for news that make the last failure void (the spec was
// changed, the object is being deleted, its pod has ended): it ends a backoff,
// and a failure of the run at work does not push it back. In its namespace the
// key goes before those that nobody wants urgently, now and when its run fails
// and is tried again. News that the reconcile itself makes must not be urgent, or
// a failing key spins.
func (q *Queue[K]) AddUrgent(key K, c Cause) {
	q.ask(key, wish{state: Ready, marks: urgent | ahead}, &c)
}

// AddAfter asks for a run after d; at once if d is not positive. The earliest
// wish wins: where news bring the key sooner, that run is the only one, there
// is none at the later time, and c is not told.
func (q *Queue[K]) AddAfter(key K, d time.Duration, c Cause) {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	q.delays++
	now := q.nowLocked()
	w := wish{state: Waiting, due: after(now, d)}
	if d <= 0 {
		w = wish{state: Ready, due: now}
	}
	q.askLocked(q.entryLocked(key, hash), w, &c, now)
}

// AddRateLimited counts a failure of key and asks for a run after the delay
// that the limiter gives. A worker calls it before Done. If the key runs before
// the delay is over, c is not told.
func (q *Queue[K]) AddRateLimited(key K, c Cause) {
	q.fail(key, 0, math.MaxInt64, false, &c)
}

// AddRateLimitedWithin is AddRateLimited with a delay of at least atLeast (a
// server's Retry-After) and at most atMost; where they disagree, atLeast wins.
// A failure that is answered with atMost is not counted further: a key that
// failed through a long outage does not owe a quarter of an hour for the first
// failure of its own.
func (q *Queue[K]) AddRateLimitedWithin(key K, atLeast, atMost time.Duration, c Cause) {
	q.fail(key, atLeast, atMost, false, &c)
}

// HoldBack asks for a run after d, and for none before it but by AddUrgent: a
// backoff that is nobody's failure, for a key that runs too often. It counts as a
// delay.
func (q *Queue[K]) HoldBack(key K, d time.Duration, c Cause) {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	now := q.nowLocked()
	q.delays++ // as an AddAfter
	q.askLocked(q.entryLocked(key, hash), wish{state: BackingOff, due: after(now, max(d, 0))}, &c, now)
}

// Forget ends the count of failures, because the key has succeeded or will not
// be tried again. It does not shorten a backoff that has begun.
func (q *Queue[K]) Forget(key K) {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.keys.find(key, hash); e != nil {
		q.countLocked(e, 0)
		q.trimLocked()
	}
}

// Reset gives key a clean slate, for a new object (another UID) under an old
// name: its failures, and any delay or backoff with its causes, belonged to the
// one before. A key that is ready or dirty stays so. Follow it by an Add, which
// the run at work, the old object's, does not push back if it fails.
func (q *Queue[K]) Reset(key K) {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys.find(key, hash)
	if e == nil {
		return
	}
	q.countLocked(e, 0)
	if e.wish.state != Ready {
		q.dropLocked(e)
	}
	if e.hold != nil {
		e.hold.renewed = true
	}
	q.trimLocked()
}

// Get waits for a key that is ready, and takes it: until Done, no other Get
// returns it. The causes are the worker's to read until Done, not after.
//
// The error is ErrShutDown when the queue is shut down and has nothing left,
// and ctx.Err() when ctx has ended, whether or not keys are ready.
func (q *Queue[K]) Get(ctx context.Context) (K, []Cause, error) {
	key, h, err := q.next(ctx)
	if err != nil {
		return key, nil, err
	}
	return key, h.tell(q.epoch), nil
}

// Done gives back a key that Get returned. What was asked for meanwhile
// happens now. For a key that no worker has, Done is ignored, and counted;
// but the queue knows only the key: a second Done after another worker has
// taken the key ends that worker's hold. Call it once, deferred.
func (q *Queue[K]) Done(key K) {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys.find(key, hash)
	if e == nil || e.hold == nil {
		q.unpairedDones++
		if t := q.cfg.Trace.OnUnpairedDone; t != nil {
			t(key)
		}
		return
	}
	q.giveBackLocked(e)
}

// Len is the number of keys that are ready.
func (q *Queue[K]) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.ready.len()
}

// NumRequeues is how often key has failed since the last Forget or Reset.
func (q *Queue[K]) NumRequeues(key K) int {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.keys.find(key, hash); e != nil {
		return int(e.failures)
	}
	return 0
}

// ShutDown stops the queue from accepting keys, and drops those that are
// waiting or backing off. Get hands out what is ready, and what is dirty once
// it is done, and then returns ErrShutDown. It may be called more than once.
func (q *Queue[K]) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	q.down = true
	q.alarm.off()
	for len(q.delayed) > 0 {
		q.dropLocked(q.delayed[len(q.delayed)-1])
		q.trimLocked()
	}
	for len(q.waiters) > 0 {
		q.signalLocked()
	}
	q.settleLocked()
}

// Drain shuts the queue down and waits until every key that was ready or at
// work has been given back, those that were dirty included. Workers have to go
// on calling Get meanwhile. The error says how much was left when ctx ended.
func (q *Queue[K]) Drain(ctx context.Context) error {
	q.ShutDown()
	select {
	case <-q.drained:
		return nil
	case <-ctx.Done():
	}
	s := q.Stats()
	return fmt.Errorf("drain workqueue %q with %d keys queued and %d at work: %w",
		q.cfg.Name, s.Ready+s.Dirty, s.Processing+s.Dirty, context.Cause(ctx))
}

// now is in nanoseconds since the queue was made. It needs no lock: who will
// take it reads the clock before, so as to hold it for less time.
func (q *Queue[K]) now() int64 { return int64(time.Since(q.epoch)) }

// laterLocked is now, or the time of what has happened since if that is later:
// between the clock and the lock others may have gone past.
func (q *Queue[K]) laterLocked(now int64) int64 {
	q.last = max(q.last, now)
	return q.last
}

func (q *Queue[K]) nowLocked() int64 { return q.laterLocked(q.now()) }

func (q *Queue[K]) time(at int64) time.Time { return q.epoch.Add(time.Duration(at)) }

// after is now + d, or the end of time if that is sooner.
func after(now int64, d time.Duration) int64 {
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}
