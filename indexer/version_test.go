package indexer_test

import (
	"context"
	"errors"
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

func TestAServerThatGoesBackTakesTheStoreWithIt(t *testing.T) {
	x := indexer.New("pods")
	at(x, "10")
	at(x, "7")
	if got := x.ResourceVersion(); got != "7" {
		t.Errorf("%s", got)
	}
}
