package workqueue

import "time"

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
		Ahead:    e.wish.is(ahead),
		Low:      e.wish.is(ofLow),
		Failures: int(e.failures),
		Causes:   appendCauses(nil, e.causes, q.epoch),
	}
	switch {
	case e.wish.delayed():
		x.Due = q.time(e.wish.due)
		if e.later != nil {
			x.Causes = appendCauses(x.Causes, e.later, q.epoch)
			c := &x.Causes[len(x.Causes)-1]
			c.First, c.Last = x.Due, x.Due
		}
	case e.wish.state == Ready:
		x.ReadySince = q.time(e.wish.due)
	}
	if e.hold != nil {
		x.ProcessingSince = q.time(e.hold.started)
		x.Running = appendCauses(nil, e.hold.reasons, q.epoch)
	}
	return x
}
