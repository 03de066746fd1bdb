package workqueue

import (
	"math"
	"time"
)

// AddTroubled is AddRateLimitedWithin for a failure that is not the key's: the
// server was not well. Release may end such a backoff sooner, but not before
// the pause that the server has asked for, atLeast, is over (to the second).
//
// It does not, if the run that failed was a Release's: then the server is not
// well yet, and the key waits for its own time.
func (q *Queue[K]) AddTroubled(key K, atLeast, atMost time.Duration, c Cause) {
	q.fail(key, atLeast, atMost, true, &c)
}

// Release is for a sign that the server is well again. It looks at n of the keys
// that AddTroubled has sent to back off, those first that failed first, and lets
// them run sooner than they would: now, but gap apart, counting from the last
// that any Release let go. It returns how many those were. A key whose pause is
// not over is looked at again after all the others.
//
// So a server that has just come to is not overrun: whoever calls this, and how
// often, one key in each gap comes by it. Nor does a server that comes and goes
// make anyone spin: between two releases a key has had a backoff that lasted
// until its own time, so that releases double its runs at the most.
func (q *Queue[K]) Release(n int, gap time.Duration) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.troubled.n == 0 {
		return 0
	}
	now := q.nowLocked()
	count := 0
	for range min(n, q.troubled.n) {
		if q.releaseLocked(q.troubled.head, gap, now) {
			count++
		}
	}
	q.releases += uint64(count)
	return count
}

func (q *Queue[K]) releaseLocked(e *entry[K], gap time.Duration, now int64) bool {
	due := max(q.nextRelease, now)
	if e.wish.pauseEnd() > now {
		q.troubled.remove(e)
		q.troubled.push(e)
		return false
	}
	if due >= e.wish.due { // its own time is sooner
		q.troubled.remove(e)
		e.wish.floor = 0
		return false
	}
	q.nextRelease = after(due, gap)
	q.moveLocked(e, wish{state: BackingOff, due: due, marks: e.wish.marks | released}, now)
	return true
}

// floorOf is the end of a pause that begins now, as a wish.floor: rounded up,
// and at the latest what that can hold, in 136 years.
func floorOf(now int64, pause time.Duration) uint32 {
	if pause <= 0 {
		return 1
	}
	return uint32(min((after(now, pause)-1)/int64(time.Second)+2, math.MaxUint32))
}

// pauseEnd is what floorOf was given, in the queue's nanoseconds.
func (w wish) pauseEnd() int64 { return int64(w.floor-1) * int64(time.Second) }
