package indexer_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// chain is a FIFO and an indexer that runs behind it.
type chain struct {
	f    *fifo.FIFO
	x    *indexer.Indexer
	done chan error
	stop context.CancelFunc
}

func start(t *testing.T, handlers ...func(indexer.Change)) *chain {
	t.Helper()
	x := indexer.New("things")
	ctx, cancel := context.WithCancel(t.Context())
	c := &chain{f: fifo.New(x, fifo.Config{}), x: x, done: make(chan error, 1), stop: cancel}
	go func() { c.done <- x.Run(ctx, c.f, handlers...) }()
	return c
}

func (c *chain) list(t *testing.T, version string, objects ...*wire.Object) {
	t.Helper()
	c.f.Begin()
	for _, o := range objects {
		if err := c.f.Item(o); err != nil {
			t.Fatal(err)
		}
	}
	c.f.Commit(version)
}

func synced(x *indexer.Indexer) bool {
	select {
	case <-x.Synced():
		return true
	default:
		return false
	}
}

func TestHandlersAreCalledInOrderAfterTheStoreHoldsTheChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		var c *chain
		see := func(who string) func(indexer.Change) {
			return func(change indexer.Change) {
				held := "gone"
				if o, ok := c.x.Object(change.Key); ok {
					held = o.ResourceVersion()
				}
				told = append(told, who+" "+show(change)+", store: "+held)
			}
		}
		ready := make(chan struct{})
		first := func(change indexer.Change) { <-ready; see("first")(change) }
		c = start(t, first, func(change indexer.Change) { see("second")(change) })
		c.list(t, "2", obj(t, "a", "u1", "1"))
		close(ready)
		synctest.Wait()
		if err := c.f.Update(obj(t, "a", "u1", "3")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := c.f.Delete(obj(t, "a", "u1", "4")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := []string{
			"first create a - u1@1 initial, store: 1",
			"second create a - u1@1 initial, store: 1",
			"first update a u1@1 u1@3, store: 3",
			"second update a u1@1 u1@3, store: 3",
			"first delete a u1@4 -, store: gone",
			"second delete a u1@4 -, store: gone",
		}
		if got := strings.Join(told, "\n"); got != strings.Join(want, "\n") {
			t.Errorf("told:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
		}
		c.stop()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestSyncedMeansThatHandlersHaveSeenAllInitialObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := 0
		c := start(t, func(indexer.Change) { time.Sleep(time.Second); seen++ })
		var objects []*wire.Object
		for name := range strings.FieldsSeq("a b c d e") {
			objects = append(objects, obj(t, name, "u", "1"))
		}
		c.list(t, "2", objects...)
		time.Sleep(4500 * time.Millisecond)
		if synced(c.x) {
			t.Errorf("synced after %d objects", seen)
		}
		<-c.x.Synced()
		if seen != 5 || c.x.Stats().Objects != 5 {
			t.Errorf("synced after %d objects", seen)
		}
		c.stop()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestAnEmptyListSyncs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		synctest.Wait()
		if synced(c.x) {
			t.Error("synced with nothing")
		}
		c.list(t, "7")
		<-c.x.Synced()
		if err := c.x.WaitFor(t.Context(), "7"); err != nil {
			t.Error(err)
		}
		c.stop()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestRunEndsWithItsContextWithinNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		synctest.Wait()
		begin := time.Now()
		c.stop()
		if err := <-c.done; err != nil || time.Since(begin) > 0 {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

func TestRunTakesWhatWaitsWhenTheFIFOIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := indexer.New("things")
		c := &chain{f: fifo.New(x, fifo.Config{}), x: x}
		c.list(t, "3", obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2"))
		c.f.Close()
		if err := x.Run(t.Context(), c.f); err != nil {
			t.Error(err)
		}
		if x.Stats().Objects != 2 || x.ResourceVersion() != "3" || !synced(x) {
			t.Errorf("%+v at %s", x.Stats(), x.ResourceVersion())
		}
	})
}

func TestASecondRunIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := start(t)
		synctest.Wait()
		if err := c.x.Run(t.Context(), c.f); err == nil {
			t.Error("no error")
		}
		c.stop()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestAPanicOfAHandlerGoesThroughAndLeavesTheStoreWhole(t *testing.T) {
	x := indexer.New("things")
	c := &chain{f: fifo.New(x, fifo.Config{}), x: x}
	c.list(t, "3", obj(t, "a", "u1", "1"))
	func() {
		defer func() {
			if recover() != "boom" {
				t.Error("no panic")
			}
		}()
		_ = x.Run(t.Context(), c.f, func(indexer.Change) { panic("boom") })
	}()
	if o, ok := x.Object(key("a")); !ok || o.ResourceVersion() != "1" || x.ResourceVersion() != "3" {
		t.Error("the store does not hold what the handler was told")
	}
	c.f.Close()
	if err := x.Run(t.Context(), c.f); err != nil || !synced(x) {
		t.Errorf("%v; synced %v", err, synced(x))
	}
}

func TestAResyncShowsHandlersWhatTheStoreHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []string
		c := start(t, func(change indexer.Change) { told = append(told, show(change)) })
		c.list(t, "3", obj(t, "b", "u2", "2"), obj(t, "a", "u1", "1"))
		<-c.x.Synced()
		told = nil
		c.f.Resync()
		synctest.Wait()
		if got := strings.Join(told, "\n"); got != "update a u1@1 u1@1 resync\nupdate b u2@2 u2@2 resync" {
			t.Errorf("told:\n%s", got)
		}
		c.stop()
		if err := <-c.done; err != nil {
			t.Error(err)
		}
	})
}

func TestRunLogsWhatFailsOnce(t *testing.T) {
	x := indexer.New("things")
	indexer.AddIndex(x, "picky", func(*wire.Object, func(string)) { panic("boom") })
	c := &chain{f: fifo.New(x, fifo.Config{}), x: x}
	c.list(t, "3", obj(t, "a", "u1", "1"), obj(t, "b", "u2", "2"))
	c.f.Close()
	logger := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	if err := x.Run(klog.NewContext(t.Context(), logger), c.f); err != nil {
		t.Error(err)
	}
	logs := logger.GetSink().(ktesting.Underlier).GetBuffer().String()
	if strings.Count(logs, "\n") != 1 || !strings.Contains(logs, `err="panic: boom" indexer="things" index="picky"`) {
		t.Errorf("%s", logs)
	}
	if len(x.Failures()) != 2 || x.Stats().Objects != 2 || !synced(x) {
		t.Errorf("%v, %+v", x.Failures(), x.Stats())
	}
}
