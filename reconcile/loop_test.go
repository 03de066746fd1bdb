package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"millrace/reconcile"
	"millrace/workqueue"
)

// gaps are the times between what was noted.
func gaps(times []time.Time) (all []time.Duration) {
	for i := range times[1:] {
		all = append(all, times[i+1].Sub(times[i]))
	}
	return all
}

// Claim 9: it asks for itself each millisecond, and is given less and less.
func TestAKeyThatAsksForItselfAgainAndAgainIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Time
		others := 0
		r := start(t, func(_ context.Context, k key) (reconcile.Result, error) {
			if k == keyB {
				others++
				return reconcile.Result{}, nil
			}
			runs = append(runs, time.Now())
			return reconcile.Result{RequeueAfter: time.Millisecond}, nil
		}, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		r.hearNews(keyB, time.Second, 5*time.Minute)
		if others != 300 {
			t.Errorf("the other key ran %d times, want once for each of 300 pieces of news", others)
		}
		got := gaps(runs)
		want := slices.Repeat([]time.Duration{time.Millisecond}, 10) // the first was asked for
		for d := 100 * time.Millisecond; d < 30*time.Second; d *= 2 {
			want = append(want, d)
		}
		want = append(want, 30*time.Second, 30*time.Second)
		if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
			t.Errorf("it came again after\n%v, want\n%v", got, want)
		}
		alarms := r.pool.Alarms()
		if len(alarms) != 1 || alarms[0].Key != keyA || alarms[0].Kind != reconcile.HotLoop || alarms[0].Delay != 30*time.Second || alarms[0].Runs != len(runs)-1 {
			t.Errorf("alarms: %+v after %d runs", alarms, len(runs))
		}
		if damped := r.pool.Damped(); damped != uint64(len(runs)-10) {
			t.Errorf("held back %d times in %d runs", damped, len(runs))
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// stubCache has everything that is ever waited for.
type stubCache struct{}

func (stubCache) WaitFor(context.Context, string) error { return nil }
func (stubCache) Rewinds() int                          { return 0 }

// Claim 9: each run writes its own object, and hears of that.
func TestAKeyThatHearsNothingButItsOwnWritesIsHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, runs := reconcile.NewGate(), 0
		var r *rig
		r = start(t, func(_ context.Context, k key) (reconcile.Result, error) {
			runs++
			was, is := fmt.Sprint(1000+runs), fmt.Sprint(1001+runs)
			gate.Wrote(k, stubCache{}, is)
			time.AfterFunc(time.Millisecond, func() {
				r.q.Add(k, workqueue.Cause{Source: "taskruns", Event: "update", OldRV: was, NewRV: is, Count: 1})
			})
			return reconcile.Result{}, nil
		}, reconcile.PoolConfig{Gate: gate})
		r.q.Add(keyA, because("create"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if runs < 20 || runs > 45 { // 10 at once, 9 in a minute, and then two each minute
			t.Errorf("%d runs in ten minutes", runs)
		}
		if alarms := r.pool.Alarms(); len(alarms) != 1 || alarms[0].Kind != reconcile.HotLoop {
			t.Errorf("alarms: %+v", alarms)
		}
		// Somebody else has changed it: that is news, and the row is over.
		before := runs
		r.q.AddUrgent(keyA, workqueue.Cause{Source: "taskruns", Event: "update", NewRV: "9000"})
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		if runs < before+5 || len(r.pool.Alarms()) != 0 {
			t.Errorf("after news of others it ran %d times, and there is still an alarm: %v", runs-before, r.pool.Alarms())
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Who is told of others, or waits a while, is in no loop, however often he runs.
func TestBusyAndPatientKeysAreNotHeldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := map[key]int{}
		gate := reconcile.NewGate()
		r := start(t, func(_ context.Context, k key) (reconcile.Result, error) {
			runs[k]++
			gate.Wrote(k, stubCache{}, fmt.Sprint(runs[k]))
			if k == keyB {
				return reconcile.Result{RequeueAfter: time.Second}, nil
			}
			return reconcile.Result{}, nil
		}, reconcile.PoolConfig{Gate: gate})
		r.q.Add(keyB, because("create"))
		r.hearNews(keyA, 10*time.Millisecond, time.Minute)
		if runs[keyA] != 6000 || runs[keyB] < 59 {
			t.Errorf("runs: %v", runs)
		}
		if alarms := r.pool.Alarms(); len(alarms) != 0 || r.pool.Damped() != 0 {
			t.Errorf("alarms: %+v", alarms)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 9.
func TestAKeyThatPanicsAgainAndAgainIsSetApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Time
		poisoned := true
		others := 0
		r := start(t, func(_ context.Context, k key) (reconcile.Result, error) {
			if k == keyB {
				others++
				return reconcile.Result{}, nil
			}
			runs = append(runs, time.Now())
			if poisoned {
				panic("index out of range")
			}
			return reconcile.Result{}, nil
		}, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		for range 300 { // news that are not urgent bring it back no sooner
			r.q.Add(keyA, because("update"))
			r.hearNews(keyB, time.Second, time.Second)
		}
		want := []time.Duration{time.Second, 2 * time.Second, time.Minute, 2 * time.Minute}
		if got := gaps(runs); !slices.Equal(got, want) {
			t.Errorf("it was tried again after %v, want %v", got, want)
		}
		if others != 300 {
			t.Errorf("the other key ran %d times, want 300", others)
		}
		alarms := r.pool.Alarms()
		var caught *reconcile.PanicError
		if len(alarms) != 1 || alarms[0].Kind != reconcile.Poison || alarms[0].Runs != 5 || !errors.As(alarms[0].Err, &caught) {
			t.Errorf("alarms: %+v", alarms)
		}
		poisoned = false
		r.q.AddUrgent(keyA, because("update"))
		synctest.Wait()
		if len(runs) != 6 || len(r.pool.Alarms()) != 0 {
			t.Errorf("after it was mended: %d runs, alarms %v", len(runs), r.pool.Alarms())
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}
