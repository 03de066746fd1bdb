package simulation

import (
	"fmt"
	"sync"
	"time"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/turnstile"
)

// blindfold keeps from a process what Plan.Unseen says. The watch of the resource
// stands still meanwhile, as one does that the network has forgotten; what comes
// after is told when it goes on.
type blindfold struct {
	plan *Unseen
	seed turnstile.Seed
	note func(format string, args ...any)

	mu      sync.Mutex
	numbers numbering
	due     chan struct{} // closed when the change has come that all waits for
	off     bool
	last    int // of the object's changes, when the watch went on
}

func newBlindfold(p Plan, note func(string, ...any)) *blindfold {
	return &blindfold{plan: p.Unseen, seed: p.Seed, note: note, numbers: newNumbering(), due: make(chan struct{})}
}

// see is told of every exchange. A change of the resource that stands still is due
// when it is there, since it cannot be told.
func (b *blindfold) see(e apiserver.Exchange) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, changed := b.numbers.see(e)
	if changed && b.plan != nil && c.Resource == b.plan.Event.Resource && c == b.plan.Until {
		b.takeOffLocked()
	}
}

// told is told of every event that was told, and says which change it was.
func (b *blindfold) told(e apiserver.Event) Change {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := b.numbers.of(e)
	if b.plan != nil && e.Watch.Actor == b.plan.Actor && c == b.plan.Until {
		b.takeOffLocked()
	}
	return c
}

// takeOff ends it, if it has not ended.
func (b *blindfold) takeOff() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.plan != nil {
		b.takeOffLocked()
	}
}

func (b *blindfold) takeOffLocked() {
	if !b.off {
		b.off, b.last = true, b.numbers.count[object{b.plan.Event.Resource, b.plan.Event.Key}]
		close(b.due)
	}
}

// hides says what becomes of an event that is about to be told, if it is one to be
// kept, and waits as long as it is.
func (b *blindfold) hides(e apiserver.Event) (v apiserver.EventVerdict, due bool) {
	u := b.plan
	if u == nil || e.Initial || e.Type == "BOOKMARK" || e.Watch.Actor != u.Actor || e.Watch.Resource != u.Event.Resource {
		return v, false
	}
	b.mu.Lock()
	c, off, last := b.numbers.of(e), b.off, b.last
	b.mu.Unlock()
	switch {
	case c == u.Event && !off:
		b.wait()
	case c.Key != u.Event.Key || c.Nth <= u.Event.Nth || c.Nth > last:
		return v, false
	}
	return apiserver.EventVerdict{Skip: true}, true
}

// keptf takes note of what a blindfold does: something goes wrong.
func (w *World) keptf(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.Faults["a change kept from a process"]++
	w.lines.note(time.Since(w.begun), fmt.Sprintf(format, args...))
}

func (b *blindfold) wait() {
	b.note("⚡ %s is kept from %s", b.plan.Event, b.plan.Actor)
	limit := time.NewTimer(unseenAtMost + b.draw("limit"))
	defer limit.Stop()
	select {
	case <-b.due:
	case <-limit.C:
		b.takeOff()
	}
	pass(b.draw("released")) // who was waited for goes on now, too
	b.note("⚡ the watch of %s goes on", b.plan.Event.Resource)
}

func (b *blindfold) draw(what string) time.Duration {
	return b.seed.Between(200*time.Microsecond, 5*time.Millisecond, "blindfold", what)
}
