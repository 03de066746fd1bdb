package fifo_test

import (
	"context"
	"errors"
	"testing"

	"millrace/fifo"
)

// Upstream: TestDeltaFIFO_detectLineJumpers.
func TestAnObjectKeepsItsPlaceWhenItChanges(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1 +b/u2@2 ~a/u1@3 +c/u3@4 ~b/u2@5")
	r.expect("a Added u1@1 Updated u1@3 →1", "b Added u2@2 Updated u2@5 →3", "c Added u3@4 →5")
	r.do("~c/u3@6 ~a/u1@7")
	r.expect("c Updated u3@6 →6", "a Updated u1@7 →7")
}

func TestAnEntryIsVisibleUntilItIsProcessed(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1")
	err := r.Pop(context.Background(), func(e fifo.Entry) error {
		// The store does not have it yet. It must neither be added a second
		// time nor be forgotten by a list.
		r.do("+a/u1@1 ~a/u1@2 begin commit@3")
		return r.store.take(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.expect("a Deleted u1@2+1 unseen →3")
}

func TestADeletionInProcessIsVisibleToo(t *testing.T) {
	r := newRig(t, fifo.Config{}).has(obj(t, "a", "u1", "1"))
	r.do("-a/u1@2")
	err := r.Pop(context.Background(), func(e fifo.Entry) error {
		// The store still has u1, yet this is a new beginning and no change of
		// u1; and nothing has vanished.
		r.do("+a/u1@3 -a/u1@4 begin commit@5 resync")
		return r.store.take(e)
	})
	if err != nil {
		t.Fatal(err)
	}
	r.expect("a Deleted u1@4+1 →5")
}

func TestAnErrorOfTheConsumerComesBackAndTheEntryIsDone(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("begin =a/u1@1 =b/u2@1 commit@2")
	for range 2 {
		if err := r.Pop(context.Background(), func(fifo.Entry) error { return errProcess }); !errors.Is(err, errProcess) {
			t.Errorf("%v", err)
		}
	}
	if !r.Idle() || !r.synced() {
		t.Errorf("idle %v, synced %v", r.Idle(), r.synced())
	}
}

// Issue 129024 of kubernetes: a panic on an item of the first list left
// HasSynced false for ever.
func TestAPanicOfTheConsumerGoesThroughAndTheEntryIsDone(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("begin =a/u1@1 commit@2")
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("no panic")
			}
		}()
		_ = r.Pop(context.Background(), func(fifo.Entry) error { panic("boom") })
	}()
	if !r.synced() || r.Len() != 0 {
		t.Errorf("synced %v, %d wait", r.synced(), r.Len())
	}
	r.do("+b/u2@3")
	r.expect("b Added u2@3 →3")
}

func TestASecondConsumerIsAMistake(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("+a/u1@1 +b/u2@2")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	_ = r.Pop(context.Background(), func(fifo.Entry) error {
		return r.Pop(context.Background(), func(fifo.Entry) error { return nil })
	})
}

func TestLenCountsObjectsThatWait(t *testing.T) {
	r := newRig(t, fifo.Config{})
	r.do("bookmark@1 +a/u1@2 ~a/u1@3 +b/u2@4")
	if r.Len() != 2 {
		t.Errorf("%d", r.Len())
	}
	r.pop()
	if r.Len() != 0 {
		t.Errorf("%d", r.Len())
	}
}

func TestTraceIsToldOfEachEntryOnceItIsDone(t *testing.T) {
	var done []string
	var r *rig
	r = newRig(t, fifo.Config{Trace: fifo.Trace{Done: func(e fifo.Entry) {
		if e.Deltas[0].Received.IsZero() {
			t.Error("received at no time")
		}
		done = append(done, show(e))
		r.Len() // the lock is free
	}}})
	r.do("+a/u1@1 bookmark@2")
	r.pop()
	if len(done) != 1 || done[0] != "a Added u1@1 →2" {
		t.Errorf("%q", done)
	}
}
