package reflector

import (
	"context"
	"sync"
	"time"
)

// Pulse lets the reflectors of one server, and whoever else talks to it, tell
// each other that it answers. After an outage each of them would find out by
// itself, within Backoff.Max; with a Pulse, the first does for all. The zero
// value works, and any goroutine may use it.
type Pulse struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next beat; nil while nobody waits for it
}

// Beat says that the server has answered a request. It costs next to nothing,
// so it may follow every one. A nil Pulse has no beat.
func (p *Pulse) Beat() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next != nil {
		close(p.next)
		p.next = nil
	}
}

// beat is closed with the next one.
func (p *Pulse) beat() <-chan struct{} {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = make(chan struct{})
	}
	return p.next
}

// pause lets a delay pass, or less of it if the server is heard to answer.
func (r *Reflector) pause(ctx context.Context, p position, delay time.Duration) outcome {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	var beat <-chan struct{}
	if p.wakes(time.Now(), r.cfg.Backoff.Max) {
		beat = r.cfg.Pulse.beat()
	}
	select {
	case <-timer.C:
		return outcome{end: complete}
	case <-beat:
		return outcome{end: complete, woken: time.Now()}
	case <-ctx.Done():
		return outcome{end: stopped}
	}
}

// wakes reports whether a beat may end this pause. It is one that was made
// because the server did not answer, and did not say how long to stay away. And
// one early attempt in the time of the longest pause is enough: where the server
// answers others and not us, beats are no news, and the pauses must grow.
func (p position) wakes(now time.Time, longest time.Duration) bool {
	return p.outage && now.Sub(p.woken) >= longest
}
