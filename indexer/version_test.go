package indexer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"millrace/fifo"
	"millrace/indexer"
)

func at(x *indexer.Indexer, version string) {
	x.Apply(fifo.Entry{Deltas: []fifo.Delta{{Type: fifo.Bookmark}}, ResourceVersion: version})
}

func TestWaitForReturnsAtOnceWhatIsThereAlready(t *testing.T) {
	x := indexer.New("pods")
	at(x, "10")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, version := range []string{"9", "10"} {
		if err := x.WaitFor(ctx, version); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	if err := x.WaitFor(ctx, "11"); !errors.Is(err, context.Canceled) {
		t.Errorf("11: %v", err)
	}
}

func TestWaitForIsWokenWhenTheStoreHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("pods")
		done := make(chan string, 3)
		for _, version := range []string{"9", "10", "100"} {
			go func() {
				if err := x.WaitFor(t.Context(), version); err == nil {
					done <- version
				}
			}()
		}
		expect := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := map[string]bool{}
			for len(done) > 0 {
				got[<-done] = true
			}
			if len(got) != len(want) {
				t.Errorf("woken %v, want %v", got, want)
			}
			for _, w := range want {
				if !got[w] {
					t.Errorf("woken %v, want %v", got, want)
				}
			}
		}
		expect() // nothing has come yet: as old as can be
		at(x, "8")
		expect()
		x.Apply(entry("a", "", added(obj(t, "a", "u1", "12")))) // ahead, and not published
		expect()
		x.Apply(entry("a", "10", updated(obj(t, "a", "u1", "13"))))
		expect("9", "10")
		at(x, "99")
		expect()
		at(x, "1000")
		expect("100")
	})
}

func TestWaitForIsBoundedByItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("pods")
		at(x, "10")
		slow := errors.New("the cache is slow")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, slow)
		defer cancel()
		begin := time.Now()
		err := x.WaitFor(ctx, "11") // which never comes
		if !errors.Is(err, slow) || time.Since(begin) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
		if want := `wait for pods at resourceVersion 11, now at "10": the cache is slow`; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
	})
}

func TestWhatCannotBeComparedIsAnErrorAtOnce(t *testing.T) {
	for _, version := range []string{"", "0", "abc", "-1"} {
		if err := indexer.New("pods").WaitFor(t.Context(), version); err == nil {
			t.Errorf("%q", version)
		}
	}
}

// A server that has changed to versions that nobody can compare, as an aggregated
// API may: who waits would wait in vain.
func TestWhoWaitsIsToldWhenVersionsCannotBeComparedAnyMore(t *testing.T) {
	for _, before := range []string{"", "10"} {
		synctest.Test(t, func(t *testing.T) {
			x := indexer.New("pods")
			at(x, before)
			result := make(chan error, 1)
			go func() { result <- x.WaitFor(t.Context(), "11") }()
			synctest.Wait()
			at(x, "abc")
			synctest.Wait()
			select {
			case err := <-result:
				if err == nil {
					t.Error("it has come")
				}
			default:
				t.Fatalf("it waits still, at %q", x.ResourceVersion())
			}
			if err := x.WaitFor(t.Context(), "11"); err == nil || x.Waiters() != 0 {
				t.Errorf("%v, %d wait", err, x.Waiters())
			}
		})
	}
}

// Who waits for a version from before is told at once, since the server may
// count for days until it comes there again.
func TestAServerThatGoesBackDisappointsWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("pods")
		at(x, "10")
		result := make(chan error)
		go func() { result <- x.WaitFor(t.Context(), "11") }()
		synctest.Wait()
		at(x, "7") // restored
		err := <-result
		var rewound *indexer.RewoundError
		if !errors.As(err, &rewound) || rewound.Before != "10" || rewound.After != "7" {
			t.Fatalf("WaitFor = %v", err)
		}
		if want := "wait for pods at resourceVersion 11: the server has gone back: pods were at resourceVersion 10, and are at 7"; err.Error() != want {
			t.Errorf("%q, want %q", err, want)
		}
		if got := x.Rewinds(); got != 1 {
			t.Errorf("Rewinds = %d", got)
		}
		go func() { result <- x.WaitFor(t.Context(), "8") }()
		synctest.Wait()
		at(x, "8") // what is written from then on is waited for as ever
		if err := <-result; err != nil || x.Rewinds() != 1 {
			t.Errorf("WaitFor = %v, Rewinds = %d", err, x.Rewinds())
		}
	})
}

func TestAServerThatGoesBackTakesTheStoreWithIt(t *testing.T) {
	x := indexer.New("pods")
	at(x, "10")
	at(x, "7")
	if got := x.ResourceVersion(); got != "7" {
		t.Errorf("%s", got)
	}
}

func TestWhoGivesUpWaitingIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("pods")
		at(x, "10")
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 30)
		for i := range 20 {
			go func() { ended <- x.WaitFor(ctx, fmt.Sprint(11+i%7)) }()
		}
		for range 10 {
			go func() { ended <- x.WaitFor(t.Context(), "14") }()
		}
		synctest.Wait()
		if got := x.Waiters(); got != 30 {
			t.Errorf("%d wait", got)
		}
		at(x, "13") // for those who want 11, 12 and 13
		synctest.Wait()
		if got := x.Waiters(); got != 21 {
			t.Errorf("%d wait for more than 13", got)
		}
		stop()
		synctest.Wait()
		if got := x.Waiters(); got != 10 {
			t.Errorf("%d wait, the others have given up", got)
		}
		at(x, "14")
		synctest.Wait()
		failed := 0
		for range 30 {
			if err := <-ended; err != nil {
				failed++
			}
		}
		if failed != 11 || x.Waiters() != 0 {
			t.Errorf("%d have given up, %d wait", failed, x.Waiters())
		}
	})
}
