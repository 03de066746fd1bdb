package reconcile

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"millrace/workqueue"
)

// A key that runs again and again for no other reason than itself is in a hot
// loop: it asks to be called at once each time, or writes at each run what makes
// it run. No limiter slows that down, since nothing fails. The pool does: it
// counts runs in a row that nobody else has asked for, and from the hotAfter-th
// on, if they come faster than hotPace on average, holds the key back: 100 ms, then
// twice as long each time, up to hotCeiling. News that are marked as urgent pass;
// others wait with it, for which reason the ceiling is low.
const (
	hotAfter   = 10
	hotPace    = time.Second
	hotBase    = 100 * time.Millisecond
	hotCeiling = 30 * time.Second
)

// A key that panics poisonAfter times in a row is poison: it is tried again only
// poisonBase later, then twice as long each time, up to a quarter of an hour, or
// when there is urgent news. Until then it backs off as after any error.
const (
	poisonAfter = 3
	poisonBase  = time.Minute
	poisonMax   = 1000 * time.Second
)

// AlarmKind is what is wrong with a key.
type AlarmKind string

// The two kinds.
const (
	// HotLoop: it runs and runs, and nobody but itself has asked for it.
	HotLoop AlarmKind = "hot loop"
	// Poison: each run panics.
	Poison AlarmKind = "panics"
)

// Alarm is a key that somebody should look at. It costs others nothing: the pool
// holds it back.
type Alarm struct {
	Key  types.NamespacedName
	Kind AlarmKind
	// Since is when the first of its Runs in a row ended.
	Since time.Time
	Runs  int
	// Delay is how long it was held back the last time, Until is when that ends.
	Delay time.Duration
	Until time.Time
	// Err is the last panic; nil of a hot loop.
	Err error
}

// loops is what is known of keys that run by themselves, and of those that panic.
type loops struct {
	mu      sync.Mutex
	streaks map[types.NamespacedName]*streak
	many    int // with so many, those that have not grown for a while are let go
	damped  uint64
}

// streak is runs in a row of one key. There is one only for a key that has alone
// or panicked above 0.
type streak struct {
	alone, panics int // runs in a row that nobody asked for; that panicked
	since, last   time.Time
	delay         time.Duration // 0: it is not held back
	err           error
}

// manyStreaks is from where on it is looked for streaks that have not grown for a
// while: of keys whose object is gone, most likely.
const manyStreaks = 1024

func (l *loops) streakLocked(key types.NamespacedName, now time.Time) *streak {
	s := l.streaks[key]
	if s != nil {
		return s
	}
	if l.streaks == nil {
		l.streaks = map[types.NamespacedName]*streak{}
	}
	if len(l.streaks) >= max(l.many, manyStreaks) {
		maps.DeleteFunc(l.streaks, func(_ types.NamespacedName, s *streak) bool { return s.cold(now) })
		l.many = 2 * len(l.streaks)
	}
	s = &streak{since: now}
	l.streaks[key] = s
	return s
}

// cold tells whether a streak has ended, most likely, and nobody has said so.
func (s *streak) cold(now time.Time) bool {
	idle := now.Sub(s.last)
	return idle > 2*poisonMax || s.delay == 0 && idle > hotAfter*hotPace
}

// hot counts a run, of which nobody else wanted to know if alone, and says how
// long the key should be held back: 0 if it is well.
func (l *loops) hot(key types.NamespacedName, alone bool, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !alone {
		delete(l.streaks, key)
		return 0
	}
	s := l.streakLocked(key, now)
	s.alone, s.panics, s.last, s.err = s.alone+1, 0, now, nil
	if s.alone < hotAfter || s.delay == 0 && now.Sub(s.since) >= time.Duration(s.alone-1)*hotPace {
		return 0
	}
	s.delay = min(max(2*s.delay, hotBase), hotCeiling)
	return s.delay
}

// poison counts a panic, and says how long the key should stay away at the least.
func (l *loops) poison(key types.NamespacedName, err error, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.streakLocked(key, now)
	if s.panics == 0 {
		*s = streak{since: now}
	}
	s.panics, s.last, s.err = s.panics+1, now, err
	if s.panics < poisonAfter {
		return 0
	}
	s.delay = min(max(2*s.delay, poisonBase), poisonMax)
	return s.delay
}

// over forgets a key that is well.
func (l *loops) over(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streaks, key)
}

func (l *loops) heldBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.damped++
}

func (l *loops) alarms() []Alarm {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Alarm
	for key, s := range l.streaks {
		if s.delay == 0 {
			continue
		}
		a := Alarm{Key: key, Kind: HotLoop, Since: s.since, Runs: s.alone, Delay: s.delay, Until: s.last.Add(s.delay), Err: s.err}
		if s.panics > 0 {
			a.Kind, a.Runs = Poison, s.panics
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b Alarm) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	return all
}

// Alarms is the keys that are held back because something is wrong with them:
// those in a hot loop, and those that panic. The longest first. It may be called
// from anywhere.
func (p *Pool) Alarms() []Alarm { return p.loops.alarms() }

// Damped is how often a key in a hot loop was held back.
func (p *Pool) Damped() uint64 {
	p.loops.mu.Lock()
	defer p.loops.mu.Unlock()
	return p.loops.damped
}

// alone tells whether a key runs by its own doing: it asked to be called, or hears
// of what it has written itself, when it ran last. What fails backs off, and is no
// loop.
func (p *Pool) alone(causes []workqueue.Cause, own []string) bool {
	for _, c := range causes {
		again := c.Source == p.name && (c.Event == eventRequeueAfter || c.Event == eventHeldBack)
		if !again && !echo(c, own) {
			return false
		}
	}
	return len(causes) > 0
}

// echo tells whether a cause stands for nothing but own writes.
func echo(c workqueue.Cause, own []string) bool {
	return c.NewRV != "" && c.Count <= len(own) && slices.Contains(own, c.NewRV)
}

// damp holds a key in a hot loop back, if it is one. It reports whether it has.
func (p *Pool) damp(log klog.Logger, done Reconciled, alone bool) bool {
	panicked := (*PanicError)(nil)
	switch {
	case errors.As(done.Err, &panicked): // settle counts it
		return false
	case done.Outcome == RequeuedAfter, done.Outcome == Succeeded && p.cfg.Gate.wrote(done.Key):
	default:
		p.loops.over(done.Key)
		return false
	}
	delay := p.loops.hot(done.Key, alone, time.Now())
	if delay <= done.Result.RequeueAfter || delay == 0 {
		return false
	}
	p.queue.Forget(done.Key)
	p.queue.HoldBack(done.Key, delay, p.cause(eventHeldBack))
	p.loops.heldBack()
	log.Info("Runs again and again though nothing changes; held back", "delay", delay, "causes", lines(done.Causes), "result", done.Result)
	return true
}
