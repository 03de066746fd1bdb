package workqueue

import (
	"slices"
	"time"
)

// Stats counts. It takes the lock, and a moment for each key at work.
func (q *Queue[K]) Stats() Stats {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Stats{
		Ready:      q.counts[Ready],
		ReadyLow:   q.ready.low.n,
		Waiting:    q.counts[Waiting],
		BackingOff: q.counts[BackingOff],
		Processing: q.counts[Processing],
		Dirty:      q.counts[Dirty],
		Remembered: q.remembered.n,

		Adds:          q.adds,
		Retries:       q.retries,
		Delays:        q.delays,
		UnpairedDones: q.unpairedDones,
	}
	now := q.now()
	for e := q.working.head; e != nil; e = e.next {
		d := time.Duration(now - e.started)
		s.UnfinishedWork += d
		s.LongestRunning = max(s.LongestRunning, d)
	}
	return s
}

// Explain says what the queue knows about key; of a key that it does not know,
// that is the zero Explanation: idle.
func (q *Queue[K]) Explain(key K) Explanation {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys[key]
	if e == nil {
		return Explanation{}
	}
	q.tellLocked(e, q.now())
	x := Explanation{
		State:    e.state(),
		Low:      e.low,
		Failures: e.failures,
		Causes:   slices.Concat(e.causes, e.later),
		Running:  slices.Clone(e.handed),
	}
	if e.wish.delayed() {
		x.Due = q.time(e.wish.due)
	}
	if e.wish.state == Ready {
		x.ReadySince = q.time(e.since)
	}
	if e.held {
		x.ProcessingSince = q.time(e.started)
	}
	return x
}
