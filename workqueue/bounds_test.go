package workqueue

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// Claim 12, for what only the inside can see.
func TestTenantsThatHaveGoneAreForgotten(t *testing.T) {
	q := New(Config[string]{Namespace: func(k string) string { return k }})
	for i := range 3 * keepIdle {
		q.Add(fmt.Sprint(i), Cause{})
	}
	for range 3 * keepIdle {
		k, _, err := q.Get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		q.Done(k)
	}
	if n := len(q.ready.tenants); n > keepIdle+keepSpare {
		t.Errorf("%d tenants are kept, want at most %d", n, keepIdle+keepSpare)
	}
	if n := q.keys.n; n > keepIdle+keepSpare {
		t.Errorf("%d idle keys are kept, want at most %d", n, keepIdle+keepSpare)
	}
}

// Claim 13.
func TestShutDownStopsTheTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config[string]{})
		q.AddAfter("later", time.Hour, Cause{})
		q.Add("fails", Cause{})
		if _, _, err := q.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.AddRateLimited("fails", Cause{})
		q.ShutDown()
		q.Done("fails")
		if q.alarm.timer.Stop() {
			t.Error("the timer was running after ShutDown")
		}
	})
}

// However many keys are due, the lock is not held for all of them at once.
func TestTheAlarmTakesABatchAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config[int]{})
		for i := range 3 * ringBatch {
			q.AddAfter(i, time.Second, Cause{})
		}
		q.alarm.off()
		time.Sleep(2 * time.Second)
		q.mu.Lock()
		q.promoteLocked()
		first := q.ready.len()
		q.mu.Unlock()
		time.Sleep(time.Second) // the alarm takes the rest
		synctest.Wait()
		if all := q.Len(); first != ringBatch || all != 3*ringBatch {
			t.Errorf("%d keys at first and %d at last, want %d and %d", first, all, ringBatch, 3*ringBatch)
		}
	})
}

// Claim 15, in the moment between a time that has come and the alarm that says
// so.
func TestADelayWhoseTimeHasComeIsToldThoughTheAlarmIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config[string]{})
		q.AddAfter("a", time.Second, Cause{Event: "requeue-after"})
		q.AddAfter("b", time.Second+1, Cause{Event: "requeue-after"})
		q.alarm.off()
		time.Sleep(time.Second)
		for key, want := range map[string]string{"a": "[requeue-after update]", "b": "[update]"} {
			q.Add(key, Cause{Event: "update"})
			if got := fmt.Sprint(q.Explain(key).Causes); got != want {
				t.Errorf("causes of %s = %s, want %s", key, got, want)
			}
		}
	})
}

// Claim 6. The count of failures stops where it would overflow, and the order
// of keys that are due at once is right beyond the end of its count.
func TestCountsDoNotOverflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config[string]{Limiter: Exponential(time.Millisecond, time.Second)})
		q.orders = math.MaxUint32 - 1
		for _, k := range []string{"a", "b", "c", "d"} {
			q.AddRateLimited(k, Cause{Event: "retry"})
		}
		q.keys.find("a", q.keys.hash("a")).failures = math.MaxInt32
		time.Sleep(time.Millisecond)
		synctest.Wait()
		for _, want := range []string{"a", "b", "c", "d"} {
			k, _, err := q.Get(t.Context())
			if err != nil || k != want {
				t.Fatalf("Get = %s, %v; want %s", k, err, want)
			}
			q.AddRateLimited(k, Cause{Event: "retry"})
			q.Done(k)
		}
		if got := q.NumRequeues("a"); got != math.MaxInt32 {
			t.Errorf("NumRequeues = %d", got)
		}
		q.Add("e", Cause{Event: "update", Count: math.MaxInt})
		q.Add("e", Cause{Event: "update", Count: 2})
		if _, causes, _ := q.Get(t.Context()); causes[0].Count != math.MaxInt32 {
			t.Errorf("Count = %d", causes[0].Count)
		}
	})
}

// Claim 13; kubernetes issue 94811 had 78,000 idle queues that kept three cores
// busy. A queue that has never delayed a key has no timer, and one whose delayed
// keys are gone sets none.
func TestAnIdleQueueHasNoTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := New(Config[string]{})
		q.Add("a", Cause{})
		if _, _, err := q.Get(t.Context()); err != nil || q.alarm.timer != nil {
			t.Fatalf("Get: %v, timer: %v", err, q.alarm.timer)
		}
		q.AddAfter("a", time.Second, Cause{})
		q.Done("a")
		q.Reset("a")
		time.Sleep(time.Second) // it rings once, in vain
		synctest.Wait()
		if q.alarm.set {
			t.Error("the timer is set without a key to wait for")
		}
	})
}

// Claim 12, measured: the table and the heap have room to spare at this count.
func TestAKeyThatBacksOffCostsAHundredAndFortyBytes(t *testing.T) {
	type key struct{ namespace, name string }
	const n = 50_000
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{"ns", fmt.Sprint("key-", i)}
	}
	q := New(Config[key]{Limiter: Exponential(time.Hour, time.Hour)})
	before := heapAlloc()
	for _, k := range keys {
		q.Add(k, Cause{Source: "pods", Event: "update", NewRV: "7"})
		if _, _, err := q.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.AddRateLimited(k, Cause{Source: "reconcile", Event: "retry"})
		q.Done(k)
	}
	each := (heapAlloc() - before) / n
	if each > 140 {
		t.Errorf("%d bytes for each key", each)
	}
	if q.delayed[0].later != q.delayed[n-1].later {
		t.Error("the cause that all have is not shared")
	}
	q.ShutDown()
	runtime.KeepAlive(keys)
}

func heapAlloc() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Causes that are all different are kept one by one; what is shared is bounded.
func TestOnlyAFewReasonsAreShared(t *testing.T) {
	q := New(Config[int]{})
	for i := range 10 * maxPlain {
		q.AddAfter(i, time.Hour, Cause{Event: fmt.Sprint("event-", i)})
		q.AddAfter(-1-i, time.Hour, Cause{Event: "update", Name: fmt.Sprint("pod-", i)})
	}
	for i := range 10 * maxPlain {
		if got, want := fmt.Sprint(q.Explain(i).Causes, q.Explain(-1-i).Causes), fmt.Sprintf("[event-%d] [update pod-%d]", i, i); got != want {
			t.Errorf("causes = %s, want %s", got, want)
		}
	}
	if n := len(q.reasons.plain); n != maxPlain {
		t.Errorf("%d reasons are shared", n)
	}
	q.ShutDown()
	if n := q.reasons.n; n == 0 || n > keepSpare {
		t.Errorf("%d reasons are spare", n)
	}
}
