package intime

import (
	"fmt"
	"testing"
	"time"
)

// A recorder is a test that does not fail.
type recorder struct {
	testing.TB

	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// works for so long, by the processors' time.
func works(t *testing.T, d time.Duration) {
	t.Helper()
	for before := spent(t); spent(t)-before < d; {
	}
}

func TestWaitingIsNoWork(t *testing.T) {
	r := &recorder{TB: t}
	Within(r, 500*time.Millisecond, "a sleep", func() { time.Sleep(time.Second) })
	if len(r.said) > 0 {
		t.Error(r.said)
	}
}

func TestWhatAlwaysTakesTooLongIsSaid(t *testing.T) {
	r, n := &recorder{TB: t}, 0
	Within(r, 20*time.Millisecond, "work", func() { n++; works(t, 50*time.Millisecond) })
	if len(r.said) != 1 || n != tries {
		t.Errorf("%d tries: %q", n, r.said)
	}
}

func TestTheLeastOfThreeCounts(t *testing.T) {
	r, n := &recorder{TB: t}, 0
	Within(r, 500*time.Millisecond, "work", func() {
		if n++; n < tries {
			works(t, time.Second)
		}
	})
	if len(r.said) > 0 || n != tries {
		t.Errorf("%d tries: %q", n, r.said)
	}
}
