package fifo_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"millrace/fifo"
)

func TestPopWaitsForSomethingToDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fifo.Config{})
		got := make(chan string)
		go func() {
			_ = r.Pop(t.Context(), func(e fifo.Entry) error { got <- show(e); return nil })
		}()
		synctest.Wait()
		select {
		case e := <-got:
			t.Fatalf("popped %q of nothing", e)
		default:
		}
		r.do("+a/u1@1")
		if e := <-got; e != "a Added u1@1 →1" {
			t.Errorf("popped %q", e)
		}
	})
}

func TestTheProducerGoesOnWhileTheConsumerWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fifo.Config{})
		r.do("+a/u1@1")
		goOn, done := make(chan struct{}), make(chan error)
		go func() {
			done <- r.Pop(t.Context(), func(e fifo.Entry) error {
				<-goOn
				return r.store.take(e)
			})
		}()
		synctest.Wait()
		r.do("~a/u1@2 +b/u2@3 begin =a/u1@2 =b/u2@3 commit@4 resync") // does not wait, or this test would never end
		close(goOn)
		if err := <-done; err != nil {
			t.Error(err)
		}
		r.expect("a Updated u1@2 →2", "b Added u2@3 →4")
	})
}

func TestTheEndOfTheContextEndsPop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fifo.Config{})
		why := errors.New("shut down")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- r.Pop(ctx, func(fifo.Entry) error { return nil }) }()
		synctest.Wait()
		cancel(why)
		if err := <-done; !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		r.do("+a/u1@1")
		err := r.Pop(ctx, func(fifo.Entry) error { t.Error("popped after the end"); return nil })
		if !errors.Is(err, why) {
			t.Errorf("%v", err)
		}
		r.expect("a Added u1@1 →1") // it is not lost
	})
}

// Upstream: TestDeltaFIFO_PopShouldUnblockWhenClosed.
func TestCloseWakesTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fifo.Config{})
		done := make(chan error)
		go func() { done <- r.Pop(t.Context(), func(fifo.Entry) error { return nil }) }()
		synctest.Wait()
		r.Close()
		if err := <-done; !errors.Is(err, fifo.ErrClosed) {
			t.Errorf("%v", err)
		}
	})
}

func TestWhatWaitsWhenItIsClosedIsPoppedFirst(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("begin =a/u1@1 =b/u2@2 commit@3")
	r.Close()
	r.Close()
	if err := r.Add(obj(t, "c", "u3", "4")); !errors.Is(err, fifo.ErrClosed) {
		t.Errorf("add: %v", err)
	}
	if err := r.Delete(obj(t, "a", "u1", "4")); !errors.Is(err, fifo.ErrClosed) {
		t.Errorf("delete: %v", err)
	}
	r.do("resync begin commit@5 bookmark@6")
	r.expect("a Added u1@1 initial →", "b Added u2@2 initial →3")
	if !r.synced() {
		t.Error("not synced")
	}
	if err := r.Pop(t.Context(), r.store.take); !errors.Is(err, fifo.ErrClosed) {
		t.Errorf("%v", err)
	}
}

func TestTheOldestEntryTellsSinceWhenItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, fifo.Config{})
		if since, ok := r.Oldest(); ok {
			t.Errorf("something waits in an empty FIFO since %v", since)
		}
		begun := time.Now()
		r.do("+a/u1@1")
		time.Sleep(time.Second)
		r.do("~a/u1@2 +b/u2@3")
		if since, ok := r.Oldest(); !ok || !since.Equal(begun) {
			t.Errorf("the oldest waits since %v, %t, and not since its first change, %v", since, ok, begun)
		}
		r.expect("a Added u1@1 Updated u1@2 →2", "b Added u2@3 →3")
	})
}
