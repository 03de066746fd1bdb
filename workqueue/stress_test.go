package workqueue_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"millrace/workqueue"
)

// Claims 1, 2 and 10 under real goroutines: many adders, many workers that
// fail, delay, forget and call Done twice, and a drain at the end. No key is
// ever with two workers, and the last version of every key is seen by a run
// that began after it was added.
func TestManyWorkersLoseNothingAndShareNothing(t *testing.T) {
	const keys, adders, workers, adds = 50, 4, 16, 5000
	q := workqueue.New(workqueue.Config[int]{
		Limiter:   workqueue.Exponential(time.Microsecond, 50*time.Microsecond),
		Namespace: func(k int) string { return fmt.Sprint(k % 5) },
	})
	var version, seen, inWork [keys]atomic.Int64

	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for {
				k, causes, err := q.Get(context.Background())
				if err != nil {
					return
				}
				if inWork[k].Add(1) != 1 {
					t.Errorf("key %d is with two workers", k)
				}
				_ = fmt.Sprint(causes) // read all of them, for the race detector
				seen[k].Store(version[k].Load())
				if r.IntN(10) == 0 {
					runtime.Gosched()
				}
				switch r.IntN(4) {
				case 0:
					q.AddRateLimited(k, because("retry"))
				case 1:
					q.AddAfter(k, 10*time.Microsecond, because("requeue-after"))
				default:
					q.Forget(k)
				}
				inWork[k].Add(-1)
				q.Done(k)
			}
		})
	}
	var adding sync.WaitGroup
	for a := range adders {
		adding.Go(func() {
			r := rand.New(rand.NewPCG(uint64(a), 2))
			for range adds {
				k := r.IntN(keys)
				version[k].Add(1)
				switch r.IntN(5) {
				case 0:
					q.AddLow(k, because("resync"))
				case 1:
					q.AddUrgent(k, because("spec"))
				default:
					q.Add(k, because("update"))
				}
				if r.IntN(100) == 0 {
					q.Stats()
				}
			}
		})
	}
	adding.Wait()
	for k := range keys { // a backoff may be pending, and a drain would drop it
		q.AddUrgent(k, because("last"))
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := q.Drain(ctx); err != nil {
		t.Fatal(err)
	}
	working.Wait()
	for k := range keys {
		if seen[k].Load() != version[k].Load() {
			t.Errorf("key %d: version %d was the last added, %d the last seen", k, version[k].Load(), seen[k].Load())
		}
	}
	if s := q.Stats(); s.Ready+s.Waiting+s.BackingOff+s.Processing+s.Dirty+int(s.UnpairedDones) != 0 {
		t.Errorf("after the drain: %+v", s)
	}
}

// Workers that come and go, each with a context of its own, strand no key.
func TestCancelledWorkersStrandNoKey(t *testing.T) {
	q := workqueue.New(workqueue.Config[int]{})
	const adds = 2000
	var runs atomic.Int64
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				ctx, cancel := context.WithTimeout(context.Background(), time.Microsecond)
				if k, _, err := q.Get(ctx); err == nil {
					runs.Add(1)
					q.Done(k)
				}
				cancel()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for {
				k, _, err := q.Get(context.Background())
				if err != nil {
					return
				}
				runs.Add(1)
				q.Done(k)
			}
		})
	}
	for i := range adds {
		q.Add(i, because("create"))
	}
	close(stop)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := q.Drain(ctx); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if got := runs.Load(); got != adds {
		t.Errorf("%d runs of %d keys", got, adds)
	}
}

// Claim 13. New queues and used queues run no goroutine, where client-go has two for
// each, and leaks them (kubernetes issue 134323; controller-runtime issue 649). They
// are not shut down here: a bubble fails if it is left with a goroutine.
func TestQueuesHaveNoGoroutines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 1000 {
			q := workqueue.New(workqueue.Config[int]{})
			q.AddAfter(1, time.Hour, because("requeue-after"))
			q.AddRateLimited(2, because("retry"))
			q.Add(3, because("create"))
		}
		time.Sleep(50 * time.Millisecond) // the retries of 5 ms ring their alarms
	})
}

// Claim 14.
func TestTheLifeOfAKnownKeyDoesNotAllocate(t *testing.T) {
	q := workqueue.New(workqueue.Config[key]{Namespace: namespace})
	keys := someKeys(100)
	timeout := workqueue.Cause{Source: "reconcile", Event: "requeue-after"}
	ctx := t.Context()
	i := 0
	life := func() {
		k := keys[i%len(keys)]
		i++
		q.Add(k, change)
		got, _, err := q.Get(ctx)
		if err != nil || got != k {
			t.Fatalf("Get = %v, %v", got, err)
		}
		q.AddAfter(k, time.Hour, timeout)
		q.Add(k, change) // dirty: the delay is superseded
		q.Done(k)
		if got, _, err = q.Get(ctx); err != nil || got != k {
			t.Fatalf("Get = %v, %v", got, err)
		}
		q.Forget(k)
		q.Done(k)
	}
	for range 2 * len(keys) {
		life()
	}
	if n := testing.AllocsPerRun(1000, life); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
