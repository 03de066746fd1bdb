package workqueue

import (
	"context"
	"math"
	"time"
)

// ask is Add in its three forms.
func (q *Queue[K]) ask(key K, w wish, c *Cause) {
	hash, now := q.keys.hash(key), q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	now = q.laterLocked(now)
	w.due = now
	q.askLocked(q.entryLocked(key, hash), w, c, now)
}

// fail is AddRateLimited in its three forms.
func (q *Queue[K]) fail(key K, atLeast, atMost time.Duration, trouble bool, c *Cause) {
	hash := q.keys.hash(key)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.down {
		return
	}
	q.retries++
	e := q.entryLocked(key, hash)
	delay := q.cfg.Limiter(int(e.failures), atMost)
	if delay < atMost || e.failures == 0 {
		q.countLocked(e, min(e.failures, math.MaxInt32-1)+1)
	}
	delay = max(min(delay, atMost), atLeast, 0)
	now := q.nowLocked()
	w := wish{state: BackingOff, due: after(now, delay)}
	var brought mark // of the run that has failed
	if e.hold != nil {
		brought = e.hold.marks
	}
	w.marks = brought & place
	if trouble && brought&released == 0 {
		w.floor = floorOf(now, atLeast)
	}
	q.askLocked(e, w, c, now)
	if t := q.cfg.Trace.OnRetry; t != nil {
		t(key, int(e.failures), delay)
	}
}

func (q *Queue[K]) askLocked(e *entry[K], w wish, c *Cause, now int64) {
	told := q.cfg.Trace.OnAsk
	if told == nil {
		q.acceptLocked(e, w, c, now)
		return
	}
	asked := Asked{Cause: *c, Urgent: w.is(urgent), Low: w.is(ofLow), From: e.state()}
	q.acceptLocked(e, w, c, now)
	asked.To = e.state()
	if e.wish.delayed() {
		asked.Due = q.time(e.wish.due)
	}
	told(e.key, asked)
}

func (q *Queue[K]) acceptLocked(e *entry[K], w wish, c *Cause, now int64) {
	next := merge(e.held(), e.wish, w)
	same := next.sameTime(e.wish)
	q.noteLocked(e, w, !same, c, now)
	if same && next.marks&place == e.wish.marks&place {
		e.wish = next // it keeps its place
		return
	}
	q.moveLocked(e, next, now)
}

// noteLocked keeps the cause c of an ask, which won if it changes what the key
// is to do. News are told whatever becomes of them. The cause of a delay or a
// backoff stays beside them until its time has come, and goes when something
// else wins before that.
func (q *Queue[K]) noteLocked(e *entry[K], ask wish, won bool, c *Cause, now int64) {
	q.tellLocked(e, now)
	if won {
		q.reasons.drop(&e.later)
	}
	switch {
	case !ask.delayed():
		q.reasons.note(&e.causes, c, q.cfg.MaxCauses, now)
	case won:
		e.later = q.reasons.later(c)
	}
}

// tellLocked makes the cause of a delay whose time has come one like the
// others.
func (q *Queue[K]) tellLocked(e *entry[K], now int64) {
	if e.later != nil && e.wish.due <= now {
		q.reasons.join(&e.causes, e.later, q.cfg.MaxCauses, e.wish.due)
		e.later = nil
	}
}

// dueLocked makes a key ready because its time has come.
func (q *Queue[K]) dueLocked(e *entry[K], now int64) {
	q.tellLocked(e, now)
	q.moveLocked(e, wish{state: Ready, due: now, marks: e.wish.marks}, now)
}

// moveLocked takes a key from where it hangs to where its new wish wants it: the
// end of the line there.
func (q *Queue[K]) moveLocked(e *entry[K], next wish, now int64) {
	q.unhangLocked(e)
	needed := e.wish.state == Ready
	e.wish = next
	if next.state == Ready && !needed {
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
	state := e.state()
	q.counts[state]++
	switch state {
	case Idle:
		q.idle(e).push(e)
	case Waiting, BackingOff:
		q.orders++
		e.order = q.orders
		q.delayed.add(e)
		if e.wish.floor > 0 {
			q.troubled.push(e)
		}
		q.alarm.wake(now, q.delayed[0].wish.due, q.ring)
	case Ready:
		q.ready.push(e)
		q.signalLocked()
	default:
		q.working.push(e)
	}
}

func (q *Queue[K]) unhangLocked(e *entry[K]) {
	state := e.state()
	q.counts[state]--
	switch state {
	case Idle:
		q.idle(e).remove(e)
	case Waiting, BackingOff:
		q.delayed.remove(e)
		if e.wish.floor > 0 {
			q.troubled.remove(e)
		}
	case Ready:
		q.ready.remove(e)
	default:
		q.working.remove(e)
	}
}

// next waits for a key and takes it.
func (q *Queue[K]) next(ctx context.Context) (key K, h *hold, err error) {
	now := q.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	for {
		if err = ctx.Err(); err != nil {
			q.passOnLocked()
			return key, nil, err
		}
		if e := q.ready.pop(q.cfg.LowEvery, q.cfg.PlainEvery); e != nil {
			q.takeLocked(e, q.laterLocked(now))
			return e.key, e.hold, nil
		}
		if q.down {
			return key, nil, ErrShutDown
		}
		q.waitLocked(ctx)
		now = q.now()
	}
}

// takeLocked hands e, which has just been popped from its lane, to a worker.
func (q *Queue[K]) takeLocked(e *entry[K], now int64) {
	q.counts[Ready]--
	waited := now - e.wish.due
	h := q.holdLocked()
	h.started, h.marks, h.renewed = now, e.wish.marks, false
	h.reasons, e.causes = e.causes, nil
	e.hold, e.wish = h, wish{}
	q.hangLocked(e, now)
	if t := q.cfg.Trace.OnGet; t != nil {
		t(e.key, time.Duration(waited))
	}
}

func (q *Queue[K]) holdLocked() *hold {
	last := len(q.holds) - 1
	if last < 0 {
		return &hold{}
	}
	h := q.holds[last]
	q.holds = q.holds[:last]
	return h
}

func (q *Queue[K]) giveBackLocked(e *entry[K]) {
	now := q.last
	if e.wish.delayed() || q.cfg.Trace.OnDone != nil { // else nobody asks for the time
		now = q.nowLocked()
	}
	switch {
	case e.wish.delayed() && q.down:
		q.dropLocked(e)
	case e.wish.delayed() && e.wish.due <= now:
		q.dueLocked(e, now)
	}
	q.unhangLocked(e)
	h := e.hold
	e.hold = nil
	q.hangLocked(e, now)
	if t := q.cfg.Trace.OnDone; t != nil {
		t(e.key, time.Duration(now-h.started))
	}
	q.reasons.drop(&h.reasons)
	if len(q.holds) < keepSpare {
		q.holds = append(q.holds, h)
	}
	q.trimLocked()
	q.settleLocked()
}

// dropLocked takes a delay or a backoff from e, with what caused it.
func (q *Queue[K]) dropLocked(e *entry[K]) {
	q.reasons.drop(&e.causes)
	q.reasons.drop(&e.later)
	q.moveLocked(e, wish{}, 0)
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
	now := q.nowLocked()
	for n := 0; n < ringBatch && len(q.delayed) > 0 && q.delayed[0].wish.due <= now; n++ {
		q.dueLocked(q.delayed[0], now)
	}
	if len(q.delayed) > 0 {
		q.alarm.wake(now, q.delayed[0].wish.due, q.ring)
	}
}
