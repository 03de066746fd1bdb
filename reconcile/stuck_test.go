package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"millrace/reconcile"
)

// A reconcile that ends with its ctx is slow; one that does not look at it is stuck.
func TestAWorkerThatDoesNotComeBackIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mended := make(chan struct{})
		r := start(t, func(ctx context.Context, k key) (reconcile.Result, error) {
			if k == keyA {
				<-ctx.Done()
				return reconcile.Result{}, ctx.Err()
			}
			<-mended
			return reconcile.Result{}, nil
		}, reconcile.PoolConfig{Workers: 2})
		r.q.Add(keyA, because("create"))
		for range 60 {
			time.Sleep(time.Minute)
			if err := r.pool.Stuck(); err != nil {
				t.Fatal(err)
			}
		}
		r.q.Add(keyB, because("create"))
		time.Sleep(4 * time.Minute)
		if err := r.pool.Stuck(); err != nil {
			t.Errorf("after four minutes: %v", err)
		}
		time.Sleep(time.Minute)
		if err := r.pool.Stuck(); err == nil {
			t.Error("after five minutes it is called well")
		}
		close(mended)
		synctest.Wait()
		if err := r.pool.Stuck(); err != nil {
			t.Errorf("after it came back: %v", err)
		}
		r.end() //nolint:errcheck // the other key is interrupted, and that is an error
	})
}
