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

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"millrace/reconcile"
	"millrace/workqueue"
)

// An outage is a server that answers with an error, or nil if it is well, and
// what it was asked.
type outage struct {
	mu     sync.Mutex
	err    error
	begun  time.Time
	asked  []time.Duration // when a reconcile asked it, since the last becomes
	served map[key]bool
}

func (o *outage) becomes(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.begun, o.asked, o.served = err, time.Now(), nil, map[key]bool{}
}

func (o *outage) reconcile(_ context.Context, k key) (reconcile.Result, error) {
	time.Sleep(5 * time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, time.Since(o.begun))
	o.served[k] = o.err == nil
	return reconcile.Result{}, o.err
}

func (o *outage) look() (asked []time.Duration, served int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, ok := range o.served {
		if ok {
			served++
		}
	}
	return slices.Clone(o.asked), served
}

// most is the largest number of times within one window.
func most(times []time.Duration, window time.Duration) int {
	most, first := 0, 0
	for i, t := range times {
		for t-times[first] >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// Claim 7: five hundred keys fail for ten minutes, and each waits up to half a
// minute. When the server is back, the first of them to find out tells the
// others.
func TestAfterAnOutageKeysDoNotSitOutTheirBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const keys = 500
		server := &outage{}
		server.becomes(apierrors.NewServiceUnavailable("etcd has no leader"))
		r := startWith(t, workqueue.DefaultLimiter(), server.reconcile, reconcile.PoolConfig{Workers: 8})
		for i := range keys {
			r.q.Add(key{Namespace: "ci", Name: fmt.Sprint(i)}, because("create"))
		}
		time.Sleep(10 * time.Minute)
		if asked, _ := server.look(); len(asked) > keys*25 {
			t.Errorf("%d keys asked %d times in ten minutes, which is a run in less than 24 s for each", keys, len(asked))
		}
		server.becomes(nil)
		time.Sleep(2500 * time.Millisecond)
		asked, served := server.look()
		if served != keys {
			t.Errorf("%d of %d keys are served 2.5 s after the outage", served, keys)
		}
		// One in 4 ms is released; by themselves there come 10 a second, and in
		// one moment the 100 of the limiter's burst.
		if got := most(asked, time.Second); got > 250+10+100+8 || len(asked) > keys+8 {
			t.Errorf("%d reconciles within a second, %d in all", got, len(asked))
		}
		if s := r.q.Stats(); s.Troubled != 0 || s.Releases < keys/2 {
			t.Errorf("%d keys were released, %d are left to be", s.Releases, s.Troubled)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// hearNews brings news of a key at a pace, for so long.
func (r *rig) hearNews(k key, each, during time.Duration) {
	for range during / each {
		r.q.Add(k, because("update"))
		time.Sleep(each)
	}
	synctest.Wait()
}

// Claim 7: a pause that the server asked for is kept, whoever else is served.
func TestAReleaseObeysRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Duration
		begun := time.Now()
		fn := func(_ context.Context, k key) (reconcile.Result, error) {
			if k == keyB {
				return reconcile.Result{}, nil
			}
			runs = append(runs, time.Since(begun))
			if len(runs) < 6 {
				return reconcile.Result{}, apierrors.NewTooManyRequests("later", 7)
			}
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		r.hearNews(keyB, 100*time.Millisecond, 10*time.Minute)
		synctest.Wait()
		if len(runs) != 6 {
			t.Errorf("%d runs: %v", len(runs), runs)
		}
		for i := range runs[1:] {
			if got := runs[i+1] - runs[i]; got < 7*time.Second {
				t.Errorf("run %d came %v after the one before", i+2, got)
			}
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// Claim 7: trouble that only one key has. The others' successes do not make it
// spin: between two of them it sits out a backoff.
func TestAKeyWhoseTroubleStaysDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs, others := 0, 0
		fn := func(_ context.Context, k key) (reconcile.Result, error) {
			if k == keyA {
				runs++
				return reconcile.Result{}, apierrors.NewInternalError(errors.New("failed calling webhook"))
			}
			others++
			return reconcile.Result{}, nil
		}
		r := start(t, fn, reconcile.PoolConfig{})
		r.q.Add(keyA, because("create"))
		r.hearNews(keyB, 100*time.Millisecond, 10*time.Minute)
		synctest.Wait()
		// By itself it would run 24 times: after 1, 2, 4, 8, 16, and then each 30 s.
		if runs > 48 || others < 5_000 {
			t.Errorf("%d runs beside %d successes", runs, others)
		}
		if err := r.end(); err != nil {
			t.Error(err)
		}
	})
}

// An answer that says no is an answer, and one that says nothing is none.
func TestWhatShowsAServerThatIsWell(t *testing.T) {
	for _, c := range []struct {
		err      error
		released bool
	}{
		{nil, true},
		{apierrors.NewNotFound(podA, "a"), true},
		{reconcile.Terminal(apierrors.NewBadRequest("no")), true},
		{apierrors.NewConflict(podA, "a", errors.New("changed")), true},
		{errors.New("no such parameter"), false},
		{apierrors.NewServiceUnavailable("still"), false},
	} {
		synctest.Test(t, func(t *testing.T) {
			runs := 0
			fn := func(_ context.Context, k key) (reconcile.Result, error) {
				if k == keyB {
					return reconcile.Result{}, c.err
				}
				if runs++; runs == 1 {
					return reconcile.Result{}, apierrors.NewServiceUnavailable("etcd has no leader")
				}
				return reconcile.Result{}, nil
			}
			r := start(t, fn, reconcile.PoolConfig{})
			r.q.Add(keyA, because("create"))
			synctest.Wait()
			r.q.Add(keyB, because("create"))
			time.Sleep(100 * time.Millisecond) // of the second that it would wait
			synctest.Wait()
			if got := runs == 2; got != c.released {
				t.Errorf("after %v the other key was released: %v", c.err, got)
			}
			if err := r.end(); err != nil {
				t.Error(err)
			}
		})
	}
}
