package workqueue

import (
	"container/heap"
	"slices"
	"time"
)

// delayed is the keys that are Waiting or BackingOff, and that no worker has,
// as a heap: the first to be due is at the root.
type delayed[K comparable] []*entry[K]

func (d delayed[K]) Len() int { return len(d) }

func (d delayed[K]) Less(i, j int) bool {
	if d[i].wish.due != d[j].wish.due {
		return d[i].wish.due < d[j].wish.due
	}
	return int32(d[i].order-d[j].order) < 0 // right also after the count has begun anew
}

func (d delayed[K]) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].at, d[j].at = int32(i), int32(j)
}

// Push and Pop are for container/heap.
func (d *delayed[K]) Push(x any) {
	e := x.(*entry[K]) //nolint:forcetypeassert // It is what add gave to container/heap.
	e.at = int32(len(*d))
	*d = append(*d, e)
}

func (d *delayed[K]) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	return e
}

func (d *delayed[K]) add(e *entry[K]) { heap.Push(d, e) }

func (d *delayed[K]) remove(e *entry[K]) {
	heap.Remove(d, int(e.at))
	if cap(*d) > shrinkFrom && len(*d) < cap(*d)/8 {
		*d = slices.Clone(*d)
	}
}

// alarm is the queue's one timer. A timer is not a goroutine: until it rings it
// is 100 bytes in the runtime's heap, and a queue without delayed keys has none
// set at all (78,000 idle queues that ticked twice a second once cost two to
// three cores: kubernetes issue 94811).
type alarm struct {
	timer *time.Timer
	set   bool
	at    int64 // when it rings, if set; never later than the first due key
}

// wake sees to it that ring is called at the time at, or earlier. An alarm
// that is left standing from a key that has gone is not turned off: it costs
// one look at the heap, where turning it off would cost one for each such key.
func (a *alarm) wake(now, at int64, ring func()) {
	if a.set && a.at <= at {
		return
	}
	a.set, a.at = true, at
	if a.timer == nil {
		a.timer = time.AfterFunc(time.Duration(at-now), ring)
	} else {
		a.timer.Reset(time.Duration(at - now))
	}
}

func (a *alarm) off() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.set = false
}
