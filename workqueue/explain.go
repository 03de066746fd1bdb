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
		ReadyLow:   q.ready.lane[low].n,
		Waiting:    q.counts[Waiting],
		BackingOff: q.counts[BackingOff],
		Processing: q.counts[Processing],
		Dirty:      q.counts[Dirty],
		Troubled:   q.troubled.n,
		Remembered: q.remembered.n,

		Adds:          q.adds,
		Retries:       q.retries,
		Delays:        q.delays,
		Releases:      q.releases,
		UnpairedDones: q.unpairedDones,
	}
	now := q.nowLocked()
	for e := q.working.head; e != nil; e = e.next {
		d := time.Duration(now - e.hold.started)
		s.UnfinishedWork += d
		s.LongestRunning = max(s.LongestRunning, d)
	}
	return s
}

// Explain says what the queue knows about key; of a key that it does not know,
// that is the zero Explanation: idle.
func (q *Queue[K]) Explain(key K) Explanation {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	e := q.keys.find(key, hash)
	if e == nil {
		return Explanation{}
	}
	q.tellLocked(e, q.nowLocked())
	x := Explanation{
		State:    e.state(),
		Low:      e.wish.low,
		Failures: int(e.failures),
		Causes:   q.causesLocked(e),
	}
	switch {
	case e.wish.delayed():
		x.Due = q.time(e.wish.due)
	case e.wish.state == Ready:
		x.ReadySince = q.time(e.wish.due)
	}
	if e.hold != nil {
		x.ProcessingSince = q.time(e.hold.started)
		x.Running = slices.Clone(e.hold.causes)
	}
	return x
}

// causesLocked is why the next run of e will be; the delay that has not ended
// comes last.
func (q *Queue[K]) causesLocked(e *entry[K]) []Cause {
	var causes []Cause
	for r := e.causes; r != nil; r = r.next {
		causes = append(causes, r.cause(q.epoch))
	}
	if e.later != nil {
		c := e.later.cause(q.epoch)
		c.First = q.time(e.wish.due)
		c.Last = c.First
		causes = append(causes, c)
	}
	return causes
}
