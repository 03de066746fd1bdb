package turnstile

import (
	"container/heap"
	"context"
	"sync"
	"time"
)

// Agenda is what the actors of a simulation are going to do. After may be called
// from anywhere, also from what the agenda does, and with locks held: it calls
// nobody.
type Agenda struct {
	mu    sync.Mutex
	items items
	given int
	news  chan struct{} // has room for one: something was put before all else
}

// item is one thing to do.
type item struct {
	at    time.Time
	given int // breaks ties
	do    func()
}

// NewAgenda makes an empty agenda, on which nothing happens until Run.
func NewAgenda() *Agenda {
	return &Agenda{news: make(chan struct{}, 1)}
}

// After has do called once, after d.
func (a *Agenda) After(d time.Duration, do func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.given++
	heap.Push(&a.items, item{time.Now().Add(d), a.given, do})
	if a.items[0].given != a.given {
		return
	}
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// Run does what comes due until ctx ends.
func (a *Agenda) Run(ctx context.Context) {
	for ctx.Err() == nil {
		do, wait := a.next()
		if do != nil {
			do()
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-a.news:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// next takes what is due, or says how long nothing will be.
func (a *Agenda) next() (do func(), wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.items) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(a.items[0].at); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&a.items).(item).do, 0 //nolint:forcetypeassert // a heap of items
}

// items is a heap by time.
type items []item

func (h items) Len() int { return len(h) }
func (h items) Less(i, j int) bool {
	if !h[i].at.Equal(h[j].at) {
		return h[i].at.Before(h[j].at)
	}
	return h[i].given < h[j].given
}
func (h items) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *items) Push(x any)   { *h = append(*h, x.(item)) } //nolint:forcetypeassert // a heap of items
func (h *items) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
