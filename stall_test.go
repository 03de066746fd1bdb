package main

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/wire"
	"millrace/workqueue"
)

// A stalled is two chains of which one has a handler that stalls when it is told to.
type stalled struct {
	t           *testing.T
	pods, tasks chain
	stall       chan struct{} // closed when it goes on; nil: it does not stall
	queue       *workqueue.Queue[types.NamespacedName]
}

func (s *stalled) handle(indexer.Change) {
	if s.stall != nil {
		<-s.stall
	}
}

// tell puts the n-th version of an object into a chain.
func (s *stalled) tell(c chain, name string, n int) {
	s.t.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"namespace":"ci","name":%q,"uid":"of-%s","resourceVersion":"%d"}}`, name, name, n))
	if err == nil {
		err = c.fifo.Update(o)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// A handler that stalls for ten minutes holds up the chain of its own resource and no
// other; what comes meanwhile waits once for each object, however often that changes;
// and all of it is told when the handler goes on. (Fault 24.)
func TestAStalledHandlerHoldsUpItsOwnChainAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects, changes = 100, 50
		s := &stalled{t: t, stall: make(chan struct{}), queue: workqueue.New(workqueue.Config[types.NamespacedName]{})}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		for _, c := range []*chain{&s.pods, &s.tasks} {
			*c = chain{Indexer: indexer.New("things")}
			c.fifo = fifo.New(c.Indexer, fifo.Config{})
			c.fifo.Begin()
			c.fifo.Commit("1")
		}
		go func() { ended <- s.pods.Run(ctx, s.pods.fifo, s.handle, handler.Enqueue("pods", s.queue)) }()
		go func() { ended <- s.tasks.Run(ctx, s.tasks.fifo) }()

		version := 1
		for range changes {
			for i := range objects {
				version++
				s.tell(s.pods, fmt.Sprint("pod-", i), version)
			}
			time.Sleep(10 * time.Minute / changes)
			s.tell(s.tasks, "task", version)
		}
		synctest.Wait()
		if n := s.pods.fifo.Len(); n > objects {
			t.Errorf("%d entries wait for a stalled handler, of %d objects", n, objects)
		}
		if got, want := s.tasks.ResourceVersion(), fmt.Sprint(version); got != want {
			t.Errorf("the other resource's cache is at %s, want %s", got, want)
		}

		close(s.stall)
		synctest.Wait()
		if got, want := s.pods.ResourceVersion(), fmt.Sprint(version); got != want || s.pods.fifo.Len() != 0 {
			t.Errorf("when the handler has gone on the cache is at %s, want %s, and %d entries wait", got, want, s.pods.fifo.Len())
		}
		if n := s.queue.Len(); n != objects {
			t.Errorf("%d of %d keys were told", n, objects)
		}
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}
