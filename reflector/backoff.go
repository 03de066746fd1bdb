package reflector

import (
	"math/rand/v2"
	"time"
)

// Backoff is how the pauses between failed exchanges grow: after the n-th
// failure in a row a random time in [d, 2d), where d = Base·2ⁿ⁻¹, and no more
// than Max/2.
//
// A healthy watch starts it over: one that lasted Config.HealthyAfter, or that
// brought an event. The clock alone does not: client-go's counts from the last
// reset, so that two minutes into an outage its delays begin again at 800 ms.
//
// At the defaults a server that is down gets its first three requests within
// 2.4 to 4.8 s, later one every 22 s or so from each reflector: 0.05 a
// second, or one a second from twenty of them. Half a minute after it is back,
// everybody has noticed.
type Backoff struct {
	// Base is the shortest pause. Default 800 ms, so that an outage never sees
	// more than three requests of one reflector in its first second.
	Base time.Duration
	// Max is longer than any pause that the server did not ask for. Default
	// 30 s: what a person who has just repaired the server is ready to wait.
	Max time.Duration
}

func (b Backoff) withDefaults() Backoff {
	if b.Base <= 0 {
		b.Base = 800 * time.Millisecond
	}
	if b.Max <= 0 {
		b.Max = 30 * time.Second
	}
	return b
}

// delay is the pause after the given number of failures in a row. The server's
// wish is a lower bound, and is jittered too: many clients were told the same.
func (b Backoff) delay(failures int, wish time.Duration, random *rand.Rand) time.Duration {
	step := b.step(failures)
	jitter := time.Duration(random.Float64() * float64(step))
	return max(wish, step) + jitter
}

func (b Backoff) step(failures int) time.Duration {
	limit := max(b.Max/2, 1)
	step := b.Base
	for range failures - 1 {
		if step >= limit {
			break
		}
		step *= 2
	}
	return min(step, limit)
}
