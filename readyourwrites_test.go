package main_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/wire"
	"millrace/workqueue"
)

// A stream is a FIFO, the indexer behind it, and a pool with one worker at its
// gate, as they are wired here; the test plays the reflector.
type stream struct {
	t     *testing.T
	fifo  *fifo.FIFO
	pods  *indexer.Indexer
	queue *workqueue.Queue[types.NamespacedName]
	gate  *reconcile.Gate
	ran   []string // what each reconcile saw
	write func(key types.NamespacedName)
	stale []error
}

var run = types.NamespacedName{Namespace: "ci", Name: "build"}

func follow(t *testing.T, tell func(s *stream)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stream{t: t, pods: indexer.New("pods"), gate: reconcile.NewGate(), write: func(types.NamespacedName) {}}
		s.fifo = fifo.New(s.pods, fifo.Config{})
		s.queue = workqueue.New(workqueue.Config[types.NamespacedName]{Limiter: workqueue.Exponential(time.Second, time.Minute)})
		pool := reconcile.NewPool("run", s.queue, s.reconcile, reconcile.PoolConfig{
			Workers: 1, Gate: s.gate,
			Trace: reconcile.Trace{OnStaleWait: func(_ types.NamespacedName, _ time.Duration, err error) { s.stale = append(s.stale, err) }},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- s.pods.Run(ctx, s.fifo) }()
		go func() { ended <- pool.Run(ctx) }()
		s.list("10", s.pod("old", "9"))
		tell(s)
		cancel()
		for range 2 {
			if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
		}
	})
}

// reconcile notes what it sees, and whether it is to trust that; then it writes.
func (s *stream) reconcile(_ context.Context, key types.NamespacedName) (reconcile.Result, error) {
	saw := "at " + s.pods.ResourceVersion()
	if s.gate.InDoubt(key) {
		saw += " in doubt"
		s.gate.Clear(key)
	}
	s.ran = append(s.ran, saw)
	s.write(key)
	return reconcile.Result{}, nil
}

func (s *stream) pod(name, version string) *wire.Object {
	s.t.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"ci","uid":%q,"resourceVersion":%q}}`, name, name, version))
	if err != nil {
		s.t.Fatal(err)
	}
	return o
}

func (s *stream) list(version string, pods ...*wire.Object) {
	s.t.Helper()
	s.fifo.Begin()
	for _, p := range pods {
		if err := s.fifo.Item(p); err != nil {
			s.t.Fatal(err)
		}
	}
	s.fifo.Commit(version)
	synctest.Wait()
}

// wrote has the next reconcile make a write that the server answers with version.
func (s *stream) wrote(version string) {
	s.write = func(key types.NamespacedName) {
		s.gate.Wrote(key, s.pods, version)
		s.write = func(types.NamespacedName) {}
	}
	s.news()
}

// news asks for a reconcile.
func (s *stream) news() {
	s.queue.AddUrgent(run, workqueue.Cause{Source: "test", Event: "update"})
	synctest.Wait()
}

func (s *stream) saw(want ...string) {
	s.t.Helper()
	synctest.Wait()
	if got := fmt.Sprint(s.ran); got != fmt.Sprint(want) {
		s.t.Fatalf("the reconciles were %s, want %v", got, want)
	}
}

// The pod comes back on the watch; other news before it do not open the gate.
func TestAKeyWaitsForTheEventOfItsOwnWrite(t *testing.T) {
	follow(t, func(s *stream) {
		s.wrote("13")
		s.news()
		if err := s.fifo.Update(s.pod("old", "12")); err != nil {
			t.Fatal(err)
		}
		s.saw("at 10")
		if err := s.fifo.Add(s.pod("new", "13")); err != nil {
			t.Fatal(err)
		}
		s.saw("at 10", "at 13")
	})
}

// What was written is out of the watch's selector, or was a deletion of what the
// watch never showed: no event will come, and a bookmark says so.
// (controller-runtime waits for events, and so to the end of its ctx.)
func TestABookmarkReleasesAKeyWhoseObjectLeftTheSelector(t *testing.T) {
	follow(t, func(s *stream) {
		s.wrote("13")
		s.news()
		s.fifo.Bookmark("12")
		s.saw("at 10")
		s.fifo.Bookmark("14")
		s.saw("at 10", "at 14")
	})
}

// The connection was down meanwhile, and the list that follows does not have the
// object any more: nobody knows its last state.
func TestAListReleasesAKeyWhoseObjectIsGone(t *testing.T) {
	follow(t, func(s *stream) {
		s.wrote("13")
		s.news()
		s.list("20")
		s.saw("at 10", "at 20")
	})
}

// A watch that says nothing costs the worker ten seconds, three times; then the
// reconcile is told not to trust the cache.
func TestAKeyOfASilentWatchIsInDoubt(t *testing.T) {
	follow(t, func(s *stream) {
		s.wrote("13")
		s.news()
		time.Sleep(time.Minute)
		s.saw("at 10", "at 10 in doubt")
		for _, err := range s.stale {
			var stale *reconcile.StaleError
			if !errors.As(err, &stale) || stale.ResourceVersion != "13" {
				t.Errorf("the wait ended with %v", err)
			}
		}
		if len(s.stale) != 3 {
			t.Errorf("%d waits in vain", len(s.stale))
		}
	})
}

// The server was restored from a backup: the list has older versions than those
// that were seen, and no wait will show what was written before.
func TestARestoredServerPutsOwnWritesInDoubtAtOnce(t *testing.T) {
	follow(t, func(s *stream) {
		s.wrote("13")
		s.news() // one worker waits
		time.Sleep(time.Second)
		s.list("7")
		s.saw("at 10", "at 7 in doubt")

		s.wrote("8")
		s.saw("at 10", "at 7 in doubt", "at 7")
		s.news()
		s.fifo.Bookmark("8")
		s.saw("at 10", "at 7 in doubt", "at 7", "at 8")
		if len(s.stale) != 0 {
			t.Errorf("waits in vain: %v", s.stale)
		}
	})
}
