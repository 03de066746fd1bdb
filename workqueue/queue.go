package workqueue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"
)

// ErrShutDown is what Get returns when the queue has been shut down and has
// nothing left to hand out.
var ErrShutDown = errors.New("workqueue is shut down")

const (
	// keepSpare is how many idle keys (and tenants without keys) stay in their
	// maps because they may come again soon, so that a busy key costs no
	// allocation: enough for the keys in flight of a busy controller, little
	// enough (250 KB with one cause each) to forget about.
	keepSpare = 512
	// ringBatch is how many due keys are made ready under one hold of the
	// lock, so that 100,000 keys due at once do not stop the workers.
	ringBatch = 512
	// shrinkFrom is the size from which the map is made anew when nearly all
	// keys have become idle: Go's maps keep their largest size for ever.
	shrinkFrom = 4096
)

// Config of a Queue. Its zero value works.
type Config[K comparable] struct {
	// Name appears in errors and is the name label of the metrics.
	Name string
	// Limiter of AddRateLimited. Default: DefaultLimiter().
	Limiter Limiter
	// Namespace says who a key belongs to; those who have keys ready take
	// turns. It is called with the lock held and must always say the same
	// about a key. Default: nil, all keys belong to one.
	Namespace func(K) string
	// LowEvery is the aging bound of the low lane: of every LowEvery keys that
	// are handed out while both lanes have some, one is low. Default: 8, which
	// leaves news seven eighths of the workers after a restart. 1 serves the
	// low lane first.
	LowEvery int
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
	keys map[K]*entry[K] // every key that is not idle, and those of rested and remembered
	peak int             // of len(keys), since the map was made

	// Where the entries hang; see entry.
	ready      lanes[K]
	delayed    delayed[K]
	working    list[K]
	rested     list[K] // the last to become idle without failures, at most keepSpare
	remembered list[K] // idle, with failures, at most Config.MaxRemembered

	alarm   alarm
	orders  int64
	waiters []chan struct{} // one for each Get that waits; each has room for one signal
	idlers  []chan struct{} // waiters to use again

	down    bool
	drained chan struct{} // closed when down, and nothing is ready or at work

	counts                               [states]int
	adds, retries, delays, unpairedDones uint64
}

// New makes a queue. It starts nothing: there is no goroutine to leak if the
// queue is never used.
func New[K comparable](cfg Config[K]) *Queue[K] {
	return &Queue[K]{
		cfg:     cfg.withDefaults(),
		epoch:   time.Now(),
		keys:    map[K]*entry[K]{},
		drained: make(chan struct{}),
	}
}

// Name is Config.Name.
func (q *Queue[K]) Name() string { return q.cfg.Name }

// Add asks for a run of key: now if it is idle or waiting, after Done if it is
// being processed, and not before its time if it is backing off.
func (q *Queue[K]) Add(key K, c Cause) { q.ask(key, wish{state: Ready}, false, c) }

// AddLow is Add for a key that nothing has happened to (the initial list, a
// resync): news go first. A key is low only while everyone who asked for its
// next run was.
func (q *Queue[K]) AddLow(key K, c Cause) { q.ask(key, wish{state: Ready}, true, c) }

// AddUrgent is Add for news that make the last failure void (the spec was
// changed, the object is being deleted, its pod has ended): it ends a backoff,
// and a failure of the run at work does not push it back. News that the
// reconcile itself makes must not be urgent, or a failing key spins.
func (q *Queue[K]) AddUrgent(key K, c Cause) {
	q.ask(key, wish{state: Ready, urgent: true}, false, c)
}

// AddAfter asks for a run after d; at once if d is not positive. The earliest
// wish wins: where news bring the key sooner, that run is the only one, there
// is none at the later time, and c is not told.
func (q *Queue[K]) AddAfter(key K, d time.Duration, c Cause) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	q.delays++
	now := q.now()
	w := wish{state: Waiting, due: after(now, d)}
	if d <= 0 {
		w = wish{state: Ready}
	}
	q.askLocked(key, w, false, c, now)
}

// AddRateLimited counts a failure of key and asks for a run after the delay
// that the limiter gives. A worker calls it before Done. If the key runs before
// the delay is over, c is not told.
func (q *Queue[K]) AddRateLimited(key K, c Cause) {
	q.AddRateLimitedWithin(key, 0, math.MaxInt64, c)
}

// AddRateLimitedWithin is AddRateLimited with a delay of at least atLeast (a
// server's Retry-After) and at most atMost; where they disagree, atLeast wins.
// A failure that is answered with atMost is not counted further: a key that
// failed through a long outage does not owe a quarter of an hour for the first
// failure of its own.
func (q *Queue[K]) AddRateLimitedWithin(key K, atLeast, atMost time.Duration, c Cause) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	q.retries++
	e := q.entryLocked(key)
	delay := q.cfg.Limiter(e.failures)
	if delay < atMost || e.failures == 0 {
		q.countLocked(e, e.failures+1)
	}
	delay = max(min(delay, atMost), atLeast, 0)
	now := q.now()
	q.askLocked(key, wish{state: BackingOff, due: after(now, delay)}, e.held && e.ranLow, c, now)
	if t := q.cfg.Trace.OnRetry; t != nil {
		t(key, e.failures, delay)
	}
}

// Forget ends the count of failures, because the key has succeeded or will not
// be tried again. It does not shorten a backoff that has begun.
func (q *Queue[K]) Forget(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.keys[key]; e != nil {
		q.countLocked(e, 0)
		q.releaseLocked()
	}
}

// Reset gives key a clean slate, for a new object (another UID) under an old
// name: its failures, and any delay or backoff with its causes, belonged to the
// one before. A key that is ready or dirty stays so. Follow it by an Add.
func (q *Queue[K]) Reset(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys[key]
	if e == nil {
		return
	}
	q.countLocked(e, 0)
	if e.wish.state != Ready {
		q.dropLocked(e)
	}
	q.releaseLocked()
}

// Get waits for a key that is ready, and takes it: until Done, no other Get
// returns it. The causes are the worker's to read until Done, not after.
//
// The error is ErrShutDown when the queue is shut down and has nothing left,
// and ctx.Err() when ctx has ended, whether or not keys are ready.
func (q *Queue[K]) Get(ctx context.Context) (K, []Cause, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		var none K
		if err := ctx.Err(); err != nil {
			q.passOnLocked()
			return none, nil, err
		}
		if e := q.ready.pop(q.cfg.LowEvery); e != nil {
			q.takeLocked(e)
			return e.key, e.handed, nil
		}
		if q.down {
			return none, nil, ErrShutDown
		}
		q.waitLocked(ctx)
	}
}

// Done gives back a key that Get returned. What was asked for meanwhile
// happens now. For a key that no worker has, Done is ignored, and counted;
// but the queue knows only the key: a second Done after another worker has
// taken the key ends that worker's hold. Call it once, deferred.
func (q *Queue[K]) Done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys[key]
	if e == nil || !e.held {
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
	q.mu.Lock()
	defer q.mu.Unlock()
	if e := q.keys[key]; e != nil {
		return e.failures
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
		e := q.delayed[len(q.delayed)-1]
		q.dropLocked(e)
		q.releaseLocked()
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

// ask is Add in its three forms.
func (q *Queue[K]) ask(key K, w wish, low bool, c Cause) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.down {
		q.askLocked(key, w, low, c, q.now())
	}
}

func (q *Queue[K]) askLocked(key K, w wish, low bool, c Cause, now int64) {
	e := q.entryLocked(key)
	low = low && (e.low || e.wish.state == Idle)
	next := merge(e.held, e.wish, w)
	q.noteLocked(e, w, next, c, now)
	if next.state == e.wish.state && next.due == e.wish.due && low == e.low {
		e.wish = next // it keeps its place
		return
	}
	q.moveLocked(e, next, low, now)
}

// noteLocked keeps the cause c of an ask, which makes next of what the key was
// to do. News are told whatever becomes of them. The cause of a delay or a
// backoff stays beside them until its time has come, and goes when something
// else wins before that.
func (q *Queue[K]) noteLocked(e *entry[K], ask, next wish, c Cause, now int64) {
	q.tellLocked(e, now)
	if next != e.wish {
		e.later = wipe(e.later)
	}
	switch {
	case !ask.delayed():
		e.causes = note(e.causes, c, q.cfg.MaxCauses, q.time(now))
	case next != e.wish: // it is this ask that won
		e.later = note(e.later, c, q.cfg.MaxCauses, q.time(ask.due))
	}
}

// tellLocked makes the cause of a delay whose time has come one like the
// others. If it is the only one, the sets change places, which costs nothing.
func (q *Queue[K]) tellLocked(e *entry[K], now int64) {
	switch {
	case len(e.later) == 0 || e.wish.due > now:
	case len(e.causes) == 0:
		e.causes, e.later = e.later, e.causes
	default:
		e.causes = note(e.causes, e.later[0], q.cfg.MaxCauses, e.later[0].Last)
		e.later = wipe(e.later)
	}
}

// dueLocked makes a key ready because its time has come.
func (q *Queue[K]) dueLocked(e *entry[K], now int64) {
	q.tellLocked(e, now)
	q.moveLocked(e, wish{state: Ready}, e.low, now)
}

// moveLocked takes a key from where it hangs to where its new wish or lane wants
// it: the end of the line there.
func (q *Queue[K]) moveLocked(e *entry[K], next wish, low bool, now int64) {
	q.unhangLocked(e)
	needed := e.wish.state == Ready
	e.wish, e.low = next, low
	if next.state == Ready && !needed {
		e.since = now
		q.adds++
		if t := q.cfg.Trace.OnReady; t != nil {
			t(e.key)
		}
	}
	q.hangLocked(e, now)
}

// hangLocked puts e where its state wants it, and unhangLocked takes it out.
// Between the two, and only there, its state may be changed.
func (q *Queue[K]) hangLocked(e *entry[K], now int64) {
	q.counts[e.state()]++
	switch e.state() {
	case Idle:
		q.idle(e).push(e)
	case Waiting, BackingOff:
		q.orders++
		e.order = q.orders
		q.delayed.add(e)
		q.alarm.wake(now, q.delayed[0].wish.due, q.ring)
	case Ready:
		q.ready.of(e).push(q.cfg.Namespace(e.key), e)
		q.signalLocked()
	default:
		q.working.push(e)
	}
}

func (q *Queue[K]) unhangLocked(e *entry[K]) {
	q.counts[e.state()]--
	switch e.state() {
	case Idle:
		q.idle(e).remove(e)
	case Waiting, BackingOff:
		q.delayed.remove(e)
	case Ready:
		q.ready.of(e).remove(q.cfg.Namespace(e.key), e)
	default:
		q.working.remove(e)
	}
}

// takeLocked hands e, which has just been popped from its lane, to a worker.
func (q *Queue[K]) takeLocked(e *entry[K]) {
	now := q.now()
	q.counts[Ready]--
	waited := now - e.since
	e.held, e.wish, e.started = true, wish{}, now
	e.ranLow, e.low = e.low, false
	e.handed, e.causes = e.causes, e.handed
	q.hangLocked(e, now)
	if t := q.cfg.Trace.OnGet; t != nil {
		t(e.key, time.Duration(waited))
	}
}

func (q *Queue[K]) giveBackLocked(e *entry[K]) {
	now := q.now()
	switch {
	case e.wish.delayed() && q.down:
		q.dropLocked(e)
	case e.wish.delayed() && e.wish.due <= now:
		q.dueLocked(e, now)
	}
	q.unhangLocked(e)
	e.held, e.handed = false, wipe(e.handed)
	q.hangLocked(e, now)
	if t := q.cfg.Trace.OnDone; t != nil {
		t(e.key, time.Duration(now-e.started))
	}
	q.releaseLocked()
	q.settleLocked()
}

// dropLocked takes a delay or a backoff from e, with what caused it.
func (q *Queue[K]) dropLocked(e *entry[K]) {
	e.causes, e.later = wipe(e.causes), wipe(e.later)
	q.moveLocked(e, wish{}, false, 0)
}

// ring is what the alarm calls.
func (q *Queue[K]) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.alarm.set = false
	q.promoteLocked()
}

// promoteLocked makes ready what is due, and sets the alarm for what is not.
func (q *Queue[K]) promoteLocked() {
	now := q.now()
	for n := 0; n < ringBatch && len(q.delayed) > 0 && q.delayed[0].wish.due <= now; n++ {
		q.dueLocked(q.delayed[0], now)
	}
	if len(q.delayed) > 0 {
		q.alarm.wake(now, q.delayed[0].wish.due, q.ring)
	}
}

// entryLocked finds the entry of key, or makes one that is idle.
func (q *Queue[K]) entryLocked(key K) *entry[K] {
	if e := q.keys[key]; e != nil {
		return e
	}
	var e *entry[K]
	if q.rested.n > keepSpare/2 { // the older half is there to be used again
		e = q.rested.head
		q.evictLocked(e)
		*e = entry[K]{causes: e.causes, later: e.later, handed: e.handed}
	} else {
		e = &entry[K]{}
	}
	e.key = key
	q.keys[key] = e
	q.peak = max(q.peak, len(q.keys))
	q.hangLocked(e, 0)
	return e
}

// idle is the list for an idle key.
func (q *Queue[K]) idle(e *entry[K]) *list[K] {
	if e.failures > 0 {
		return &q.remembered
	}
	return &q.rested
}

// countLocked sets the count of failures, which decides where an idle key hangs.
func (q *Queue[K]) countLocked(e *entry[K], failures int) {
	if e.state() != Idle {
		e.failures = failures
		return
	}
	q.unhangLocked(e)
	e.failures = failures
	q.hangLocked(e, 0)
}

// releaseLocked lets go of the idle keys that are too many: those that have
// been idle longest.
func (q *Queue[K]) releaseLocked() {
	for q.rested.n > keepSpare {
		q.evictLocked(q.rested.head)
	}
	for q.remembered.n > q.cfg.MaxRemembered {
		q.evictLocked(q.remembered.head)
	}
	if q.peak > shrinkFrom && len(q.keys) <= keepSpare {
		keys := make(map[K]*entry[K], keepSpare)
		maps.Copy(keys, q.keys)
		q.keys, q.peak, q.delayed = keys, 0, slices.Clone(q.delayed)
	}
}

func (q *Queue[K]) evictLocked(e *entry[K]) {
	q.unhangLocked(e)
	delete(q.keys, e.key)
}

// settleLocked tells Drain when there is nothing left.
func (q *Queue[K]) settleLocked() {
	if !q.down || q.ready.len() > 0 || q.working.n > 0 {
		return
	}
	select {
	case <-q.drained:
	default:
		close(q.drained)
	}
}

// waitLocked waits, without the lock, until another goroutine has something to
// say or ctx ends. Waiters are a stack: the last worker to fall idle is the
// first to work again, and the others may be swapped out.
func (q *Queue[K]) waitLocked(ctx context.Context) {
	w := q.waiterLocked()
	q.waiters = append(q.waiters, w)
	q.mu.Unlock()
	select {
	case <-w:
		q.mu.Lock()
	case <-ctx.Done():
		q.mu.Lock()
		q.desertLocked(w)
	}
	q.idlers = append(q.idlers, w)
}

func (q *Queue[K]) waiterLocked() chan struct{} {
	last := len(q.idlers) - 1
	if last < 0 {
		return make(chan struct{}, 1)
	}
	w := q.idlers[last]
	q.idlers = q.idlers[:last]
	return w
}

// desertLocked takes w out of the waiters, or the signal out of w if it has one.
func (q *Queue[K]) desertLocked(w chan struct{}) {
	if i := slices.Index(q.waiters, w); i >= 0 {
		q.waiters = slices.Delete(q.waiters, i, i+1)
		return
	}
	<-w
}

// passOnLocked is for a Get that returns without a key: it may have been woken
// for one that now lies there while others sleep.
func (q *Queue[K]) passOnLocked() {
	if q.ready.len() > 0 {
		q.signalLocked()
	}
}

// signalLocked wakes one waiter, if there is one.
func (q *Queue[K]) signalLocked() {
	if last := len(q.waiters) - 1; last >= 0 {
		q.waiters[last] <- struct{}{}
		q.waiters = q.waiters[:last]
	}
}

// now is in nanoseconds since the queue was made.
func (q *Queue[K]) now() int64 { return int64(time.Since(q.epoch)) }

func (q *Queue[K]) time(at int64) time.Time { return q.epoch.Add(time.Duration(at)) }

// after is now + d, or the end of time if that is sooner.
func after(now int64, d time.Duration) int64 {
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return now + int64(d)
}

// wipe empties a set of causes and keeps its room; the strings are let go.
func wipe(set []Cause) []Cause {
	clear(set)
	return set[:0]
}
