package workqueue

import (
	"time"

	"golang.org/x/time/rate"
)

// Limiter answers how long a key that has failed stays away, given how many
// times it had failed before without a Forget (0 at its first failure), and the
// longest delay that will be taken, whatever the answer is. It is called with
// the queue's lock held: it must be quick and must not call the queue. The count
// lives in the queue, beside the key, so a limiter has no map of its own that
// could grow for keys that are gone (kubernetes PR 138743).
type Limiter func(failures int, atMost time.Duration) time.Duration

// Exponential doubles the delay with each failure, from base to at most limit.
// The result is in [0, limit] for every count: client-go's computes in floating
// point and hands out 2^63 ns, a negative duration, at the 64th failure of a
// base of 1 ns.
func Exponential(base, limit time.Duration) Limiter {
	return func(failures int, _ time.Duration) time.Duration {
		if failures >= 63 || base > limit>>failures {
			return limit
		}
		return base << failures
	}
}

// Bucket lets perSecond keys a second through, and burst at once, whoever they
// are. Each call takes a token, ahead of time if need be, and the token is
// never given back: with 10,000 keys failing at once, at 10 a second, the last
// waits a quarter of an hour. So it belongs between failures and the server,
// and never before keys that are well (kubernetes issue 104554).
//
// A token that is too far ahead to be waited for is not taken: the failures of
// a server's long outage leave no longer a wait behind for those that come after
// it than the longest that they were given themselves.
func Bucket(perSecond float64, burst int) Limiter {
	l := rate.NewLimiter(rate.Limit(perSecond), max(burst, 1))
	return func(_ int, atMost time.Duration) time.Duration {
		r := l.Reserve()
		delay := r.Delay()
		if delay > atMost {
			r.Cancel()
			return atMost
		}
		return delay
	}
}

// Max asks every limiter, because each has its own account to keep, and takes
// the longest delay.
func Max(limiters ...Limiter) Limiter {
	return func(failures int, atMost time.Duration) time.Duration {
		var longest time.Duration
		for _, l := range limiters {
			longest = max(longest, l(failures, atMost))
		}
		return longest
	}
}

// DefaultLimiter is what controllers have run with for years: a key's own
// failures from 5 ms, doubling, to 1000 s (a quarter of an hour: soon enough
// to heal overnight, too seldom to hurt), and 10 a second with a burst of 100
// for all keys together. Each call makes a limiter with a bucket of its own.
func DefaultLimiter() Limiter {
	return Max(Exponential(5*time.Millisecond, 1000*time.Second), Bucket(10, 100))
}
