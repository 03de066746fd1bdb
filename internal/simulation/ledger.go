package simulation

import (
	"sync"
	"time"

	"millrace/internal/simulation/turnstile"
)

// A ledger decides which faults happen, and remembers which have.
type ledger struct {
	seed  turnstile.Seed
	chaos float64
	only  map[string]bool

	begun time.Time

	mu    sync.Mutex
	calm  bool
	fired map[string]string        // kind by name
	first map[string]time.Duration // when it happened first, by name
}

func newLedger(p Plan) *ledger {
	return &ledger{seed: p.Seed, chaos: p.Chaos, only: p.Only, begun: time.Now(), fired: map[string]string{}, first: map[string]time.Duration{}}
}

// happens decides about one fault, which has a name of its own: by chance, and by
// what the plan is restricted to.
func (l *ledger) happens(kind string, chance float64, name string) bool {
	name = kind + ": " + name
	if l.chaos == 0 || !l.seed.Happens(chance*l.chaos, name) {
		return false
	}
	return l.allowed(kind, name)
}

// allowed tells whether the plan has not been restricted to other faults.
func (l *ledger) allowed(kind, name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calm || l.only != nil && !l.only[name] {
		return false
	}
	l.firesLocked(kind, name)
	return true
}

// fires takes note that it happens.
func (l *ledger) fires(kind, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.firesLocked(kind, name)
}

func (l *ledger) firesLocked(kind, name string) {
	l.fired[name] = kind
	if _, known := l.first[name]; !known {
		l.first[name] = time.Since(l.begun)
	}
}

// raging tells whether things still go wrong.
func (l *ledger) raging() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.calm
}

// settle lets nothing go wrong any more.
func (l *ledger) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calm = true
}
