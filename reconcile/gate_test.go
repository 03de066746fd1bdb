package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"millrace/reconcile"
)

// A cache that has come as far as its number.
type cache struct {
	mu      sync.Mutex
	at      int
	rewinds int
	moved   chan struct{}
	err     error // of every wait
}

func newCache(at int) *cache { return &cache{at: at, moved: make(chan struct{})} }

func (c *cache) moveTo(at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at < c.at {
		c.rewinds++
	}
	c.at = at
	close(c.moved)
	c.moved = make(chan struct{})
}

func (c *cache) Rewinds() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rewinds
}

func (c *cache) look() (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, c.moved
}

func (c *cache) WaitFor(ctx context.Context, resourceVersion string) error {
	if c.err != nil {
		return c.err
	}
	var want int
	if _, err := fmt.Sscan(resourceVersion, &want); err != nil {
		return err
	}
	for {
		at, moved := c.look()
		if at >= want {
			return nil
		}
		rewinds := c.Rewinds()
		select {
		case <-moved:
			if c.Rewinds() != rewinds {
				return errors.New("the server has gone back")
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// notes are what workers write down while the test reads along.
type notes struct {
	mu  sync.Mutex
	all []time.Duration
}

func (n *notes) add(d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, d)
}

func (n *notes) list() []time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.all)
}

func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// Claim 8: the worker that is quicker than the watch.
func TestAKeyIsNotReconciledBeforeTheCacheHasItsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(10), reconcile.NewGate()
		var seen []int
		fn := func(_ context.Context, k key) (reconcile.Result, error) {
			at, _ := pods.look()
			seen = append(seen, at)
			if len(seen) == 1 {
				gate.Wrote(k, pods, "12") // the pod was created
				return reconcile.Result{Requeue: true}, nil
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{Gate: gate})
		r.q.AddUrgent(keyA, because("create"))
		synctest.Wait()
		r.q.AddUrgent(keyA, because("update")) // news come before the cache has the pod
		time.Sleep(time.Second)
		pods.moveTo(11)
		synctest.Wait()
		if len(seen) != 1 {
			t.Fatalf("reconciled on a cache at 11, which knows nothing of the write at 12")
		}
		pods.moveTo(12)
		synctest.Wait()
		if len(seen) != 2 || seen[1] != 12 {
			t.Errorf("the caches were at %v, want 10 and 12", seen)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 8: a cache that does not come along does not hold the worker for ever,
// nor the key: after three waits in vain it is to ask the server.
func TestACacheThatStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(10), reconcile.NewGate()
		gate.Wrote(keyA, pods, "12")
		var runs, waits notes
		begun := time.Now()
		fn := func(_ context.Context, k key) (reconcile.Result, error) {
			runs.add(time.Since(begun))
			if k == keyA && !gate.InDoubt(k) {
				t.Error("reconciled on a stale cache, and not told so")
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{Gate: gate, GateTimeout: 10 * time.Second, Trace: reconcile.Trace{
			OnStaleWait: func(k key, waited time.Duration, err error) {
				var stale *reconcile.StaleError
				if !errors.As(err, &stale) || stale.Key != k || stale.ResourceVersion != "12" || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the error of the wait is %v", err)
				}
				waits.add(waited)
			},
		}})
		r.q.Add(keyA, because("update"))
		time.Sleep(10*time.Second + time.Millisecond)
		r.q.Add(keyB, because("create")) // the worker is free for others
		synctest.Wait()
		if len(runs.list()) != 1 {
			t.Error("another key has to wait for the one that backs off")
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		// 10 s of wait, 1 s of backoff, 10, 2, 10, 4: then without a wait.
		if got := runs.list(); len(waits.list()) != 3 || len(got) != 2 || got[1] != 37*time.Second {
			t.Errorf("waits %v, runs after %v; want three waits and a run after 37s", waits.list(), got)
		}
		line := "Not reconciled, since a cache is behind the key's own writes; will be tried again"
		r.wantLog(line, line, line)
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// A stop does not wait for a cache.
func TestAStopEndsTheWaitAtTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := reconcile.NewGate()
		gate.Wrote(keyA, newCache(10), "12")
		fn := func(context.Context, key) (reconcile.Result, error) {
			t.Error("reconciled on a stale cache")
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{Gate: gate})
		r.q.Add(keyA, because("update"))
		time.Sleep(time.Second)
		begun := time.Now()
		if err := r.end(); err != nil || time.Since(begun) != 0 {
			t.Errorf("stopped with %v after %v", err, time.Since(begun))
		}
		r.wantLog()
	})
}

func TestGateWaitsForTheLatestWriteOfEachCache(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, runs, gate := newCache(1), newCache(1), reconcile.NewGate()
		gate.Wrote(keyA, pods, "9")
		gate.Wrote(keyA, runs, "20")
		gate.Wrote(keyA, pods, "10") // by length first: not a string's order
		gate.Wrote(keyA, pods, "9")  // by another goroutine, late
		gate.Wrote(keyA, pods, "")   // of an answer without an object
		wait := func() error { return gate.Wait(within(t, time.Second), keyA) }
		if wait() == nil {
			t.Error("did not wait at all")
		}
		pods.moveTo(9)
		runs.moveTo(30)
		if wait() == nil {
			t.Error("did not wait for 10")
		}
		pods.moveTo(10)
		if err := wait(); err != nil {
			t.Error(err)
		}
		pods.moveTo(1) // what was seen need not be waited for again, nor doubted
		if err := wait(); err != nil {
			t.Error(err)
		}
		if err := gate.Wait(within(t, time.Second), keyB); err != nil {
			t.Error(err)
		}
	})
}

// A write that comes while a wait for the one before ends is not taken as seen.
func TestAWriteDuringAWaitIsNotLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(1), reconcile.NewGate()
		gate.Wrote(keyA, pods, "2")
		ended := make(chan error)
		go func() { ended <- gate.Wait(within(t, time.Second), keyA) }()
		synctest.Wait()
		gate.Wrote(keyA, pods, "3")
		pods.moveTo(2)
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if gate.Wait(within(t, time.Second), keyA) == nil {
			t.Error("the write at 3 is forgotten")
		}
	})
}

// A server that was restored from a backup counts from an older resourceVersion.
// The cache may need days to come where it was, and it may be another write that
// has the number then: only the server can tell, and it is asked at once.
func TestAServerThatHasGoneBackIsAskedAtOnce(t *testing.T) {
	for _, when := range []string{"before the wait", "during the wait"} {
		synctest.Test(t, func(t *testing.T) {
			pods, gate := newCache(10), reconcile.NewGate()
			gate.Wrote(keyA, pods, "12")
			begun := time.Now()
			var doubted time.Duration
			fn := func(_ context.Context, k key) (reconcile.Result, error) {
				if !gate.InDoubt(k) {
					t.Errorf("%s: reconciled without a doubt", when)
				}
				doubted = time.Since(begun)
				gate.Clear(k)
				gate.Wrote(k, pods, "8") // after the restore
				return reconcile.Result{}, nil
			}
			if when == "before the wait" {
				pods.moveTo(7)
				pods.moveTo(13) // it has that number again
			}
			r := start(t, fn, reconcile.PoolConfig{Gate: gate})
			r.q.Add(keyA, because("update"))
			time.Sleep(time.Second)
			pods.moveTo(7)
			synctest.Wait()
			if want := map[string]time.Duration{"before the wait": 0, "during the wait": time.Second}[when]; doubted != want {
				t.Errorf("%s: reconciled after %v, want %v", when, doubted, want)
			}
			if err := r.end(); err != nil {
				t.Error(err)
			}
		})
	}
}

// What is written after a server has gone back takes the place of what was
// written before, though its number is smaller; the write before is in doubt.
func TestAWriteAfterTheServerHasGoneBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(10), reconcile.NewGate()
		gate.Wrote(keyA, pods, "12")
		pods.moveTo(5)
		gate.Wrote(keyA, pods, "6")
		if !gate.InDoubt(keyA) {
			t.Error("the write at 12 is not in doubt")
		}
		gate.Clear(keyA)
		if gate.Wait(within(t, time.Second), keyA) == nil {
			t.Error("did not wait for 6")
		}
		pods.moveTo(6)
		if err := gate.Wait(within(t, time.Second), keyA); err != nil || gate.InDoubt(keyA) {
			t.Errorf("Wait = %v, in doubt: %v", err, gate.InDoubt(keyA))
		}
	})
}

// A resourceVersion that cannot be compared.
func TestWhatACacheWillNeverKnowIsDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(1), reconcile.NewGate()
		pods.err = errors.New("not a number")
		gate.Wrote(keyA, pods, "x")
		if err := gate.Wait(within(t, time.Second), keyA); err != nil {
			t.Errorf("Wait = %v", err)
		}
		if !gate.InDoubt(keyA) {
			t.Error("the key is not in doubt")
		}
	})
}

// The waits in vain have to be in a row.
func TestACacheThatComesAlongIsTrustedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(1), reconcile.NewGate()
		for i := 2; i < 20; i += 2 {
			gate.Wrote(keyA, pods, fmt.Sprint(i))
			for range 2 {
				if gate.Wait(within(t, time.Second), keyA) == nil {
					t.Fatal("did not wait")
				}
			}
			pods.moveTo(i)
			if err := gate.Wait(within(t, time.Second), keyA); err != nil {
				t.Fatal(err)
			}
		}
		if gate.InDoubt(keyA) {
			t.Error("the key is in doubt")
		}
	})
}

// So do those of a key that another write has left in doubt: its account stays
// open, and what it has been late with before is settled all the same.
func TestWaitsInVainAreForgottenThoughADoubtIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pods, gate := newCache(1), reconcile.NewGate()
		for i := 2; i < 20; i += 2 {
			gate.Doubt(keyA)
			gate.Wrote(keyA, pods, fmt.Sprint(i))
			for range 2 {
				if gate.Wait(within(t, time.Second), keyA) == nil {
					t.Fatal("did not wait")
				}
			}
			pods.moveTo(i)
			if err := gate.Wait(within(t, time.Second), keyA); err != nil {
				t.Fatal(err)
			}
			gate.Wrote(keyA, pods, fmt.Sprint(i+1)) // by the reconcile, before it has asked the server
			gate.Clear(keyA)
			pods.moveTo(i + 1)
		}
	})
}

func TestDoubtStaysUntilItIsCleared(t *testing.T) {
	pods, gate := newCache(5), reconcile.NewGate()
	gate.Doubt(keyA)
	gate.Wrote(keyA, pods, "4")
	if err := gate.Wait(within(t, time.Second), keyA); err != nil {
		t.Error(err)
	}
	if !gate.InDoubt(keyA) || gate.InDoubt(keyB) {
		t.Error("doubt does not outlast a wait, or it spreads")
	}
	gate.Wrote(keyA, newCache(1), "4")
	gate.Clear(keyA)
	gate.Clear(keyB)
	if gate.InDoubt(keyA) {
		t.Error("doubt outlasts Clear")
	}
	if gate.Wait(within(t, 0), keyA) == nil {
		t.Error("Clear ends the wait, too")
	}
	gate.Doubt(keyA)
	gate.Drop(keyA)
	if err := gate.Wait(within(t, 0), keyA); err != nil || gate.InDoubt(keyA) {
		t.Error("Drop does not forget")
	}
}
