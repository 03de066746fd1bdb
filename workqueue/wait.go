package workqueue

import (
	"context"
	"slices"
)

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
