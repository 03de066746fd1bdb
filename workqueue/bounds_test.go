package workqueue

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Claim 12, for what only the inside can see.
func TestTenantsThatHaveGoneAreForgotten(t *testing.T) {
	q := New(Config[string]{Namespace: func(k string) string { return k }})
	for i := range 10 * keepSpare {
		q.Add(fmt.Sprint(i), Cause{})
	}
	for range 10 * keepSpare {
		k, _, err := q.Get(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		q.Done(k)
	}
	if n := len(q.ready.tenants); n > keepSpare {
		t.Errorf("%d tenants are kept, want at most %d", n, keepSpare)
	}
	if n := q.keys.n; n > keepSpare {
		t.Errorf("%d idle keys are kept, want at most %d", n, keepSpare)
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
