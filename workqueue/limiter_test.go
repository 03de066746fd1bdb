package workqueue_test

import (
	"fmt"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"millrace/workqueue"
)

const forever = time.Duration(math.MaxInt64)

// Claim 6, for every base, limit and count that can be thought of; P2 is the
// base of 1 ns.
func TestExponentialStaysBetweenNothingAndItsLimit(t *testing.T) {
	durations := []time.Duration{0, 1, 2, 3, 5 * time.Millisecond, time.Second, 1000 * time.Second, 1<<62 - 1, 1 << 62, 1<<63 - 1}
	for _, base := range durations {
		for _, limit := range durations {
			if base > limit {
				continue
			}
			next := workqueue.Exponential(base, limit)
			last := time.Duration(0)
			for failures := range 200 {
				d := next(failures, forever)
				if d < last || d > limit {
					t.Fatalf("Exponential(%v, %v) after %d failures = %v, after %v", base, limit, failures, d, last)
				}
				last = d
			}
			if base > 0 && last != limit {
				t.Errorf("Exponential(%v, %v) ends at %v", base, limit, last)
			}
		}
	}
}

func TestExponentialDoubles(t *testing.T) {
	next := workqueue.Exponential(5*time.Millisecond, 1000*time.Second)
	want := 5 * time.Millisecond
	for failures := range 18 {
		if got := next(failures, forever); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
		want *= 2
	}
	if got := next(18, forever); got != 1000*time.Second {
		t.Errorf("after 18 failures: %v, want the limit", got)
	}
}

// The documented default: a burst of 100 at the pace of their own failures,
// and then ten a second.
func TestDefaultLimiterIsTheLongerOfTheTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := workqueue.DefaultLimiter()
		for i := range 100 {
			if got := next(0, forever); got != 5*time.Millisecond {
				t.Fatalf("key %d of the burst waits %v", i, got)
			}
		}
		if got := next(0, forever); got != 100*time.Millisecond {
			t.Errorf("key 101 waits %v, want 100ms for a token", got)
		}
		if got := next(10, forever); got != 5*1024*time.Millisecond {
			t.Errorf("a key that failed 10 times waits %v, want its own 5.12s", got)
		}
		time.Sleep(time.Hour)
		if got := next(0, forever); got != 5*time.Millisecond {
			t.Errorf("after an hour a key waits %v", got)
		}
	})
}

func TestABucketWithoutRoomStillLetsKeysThrough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		next := workqueue.Bucket(10, 0)
		if first, second := next(0, forever), next(0, forever); first != 0 || second != 100*time.Millisecond {
			t.Errorf("delays %v and %v, want 0s and 100ms", first, second)
		}
	})
}

// Kubernetes issue 104554: ten thousand keys that fail share the bucket, and
// nobody else waits for it.
func TestTheBucketIsForRetriesOnly(t *testing.T) {
	story(t, workqueue.Config[string]{Limiter: workqueue.DefaultLimiter()}, func(r *rig) {
		for i := range 10_000 {
			r.AddRateLimited(fmt.Sprint("ns/", i), because("retry"))
		}
		if got := r.due("ns/9999"); got != 990*time.Second {
			t.Errorf("the last of 10,000 failures waits %v, want 990s: 9,900 tokens", got)
		}
		r.Add("ns/well", because("create"))
		r.is("ns/well", workqueue.Ready)
		r.AddAfter("ns/later", time.Second, because("requeue-after"))
		if got := r.due("ns/later"); got != time.Second {
			t.Errorf("a delay of 1s became %v", got)
		}
	})
}

// The failures of an outage do not run up a debt in the bucket, which the first
// key that fails by itself afterwards would have to pay: it would be 400 s here.
func TestAnOutageRunsUpNoDebt(t *testing.T) {
	story(t, workqueue.Config[string]{Limiter: workqueue.DefaultLimiter()}, func(r *rig) {
		for range 20 {
			for i := range 500 {
				r.AddTroubled(fmt.Sprint("ns/", i), 0, 30*time.Second, because("retry"))
			}
			time.Sleep(30 * time.Second)
			for r.Len() > 0 {
				k, _, err := r.Get(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				r.Done(k)
			}
		}
		r.AddRateLimited("ns/own", because("retry"))
		if got := r.due("ns/own"); got > 30*time.Second {
			t.Errorf("a key's own first failure after the outage costs %v", got)
		}
	})
}
