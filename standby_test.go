package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/wire"
	"millrace/workqueue"
)

// cacheOfRuns is a cache as a standby has one.
func cacheOfRuns() (*indexer.Indexer, atWork) {
	store := indexer.New("taskruns")
	return store, newAtWork(store, wire.NewFacet("status.conditions[type=Succeeded].status"))
}

// hear takes the i-th run into the store, and tells the handlers.
func hear(t *testing.T, store *indexer.Indexer, i int, handle func(indexer.Change)) types.NamespacedName {
	t.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"namespace":"ci","name":"run-%d","uid":"u%d","resourceVersion":"%d"}}`, i, i, i+1))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range store.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}}) {
		handle(c)
	}
	return o.Key()
}

func TestAStandbyRemembersNoKeysAndMissesNoneWhenItTakesOver(t *testing.T) {
	var s standby
	store, runs := cacheOfRuns()
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
	handle := handler.When(s.isOver, handler.Enqueue("taskruns", queue))
	for i := range 100 {
		hear(t, store, i, handle)
	}
	if n := queue.Len(); n != 0 {
		t.Errorf("a standby has %d keys in its queue", n)
	}
	var news sync.WaitGroup
	news.Go(func() { // the stream goes on while it takes over
		for i := 100; i < 2000; i++ {
			hear(t, store, i, handle)
		}
	})
	s.takeOver(runs, queue)
	news.Wait()
	if n := queue.Len(); n != 2000 {
		t.Errorf("%d keys of 2000 are in the queue", n)
	}
}

// A store that nobody has read for long is packed, and each of its keys would keep
// the object that it is a part of, for as long as the key is remembered.
func TestTheKeysOfATakeOverKeepNoObject(t *testing.T) {
	var s standby
	store, runs := cacheOfRuns()
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
	hear(t, store, 1, func(indexer.Change) {})
	s.takeOver(runs, queue)
	key, _, err := queue.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for of := range store.Keys() {
		if key != of || unsafe.StringData(key.Name) == unsafe.StringData(of.Name) || unsafe.StringData(key.Namespace) == unsafe.StringData(of.Namespace) {
			t.Errorf("%s is the key of the object itself", key)
		}
	}
}

// After a restart somebody waits for the runs that have not ended, and of those that have
// there may be 50,000: be it this replica's first list, or what its cache has when it takes
// over.
func TestRunsThatHaveNotEndedGoBeforeTheRest(t *testing.T) {
	var list strings.Builder
	list.WriteString(`{"kind":"TaskRunList","apiVersion":"tekton.dev/v1","metadata":{"resourceVersion":"999"},"items":[`)
	for i := range 100 {
		fmt.Fprintf(&list, `{"metadata":{"namespace":"ci","name":"old-%d","uid":"u%d","resourceVersion":"%d"},"status":{"conditions":[{"type":"Succeeded","status":%q}]}},`,
			i, i, i+1, []string{"True", "False"}[i%2])
	}
	list.WriteString(`{"metadata":{"namespace":"ci","name":"running","uid":"r","resourceVersion":"200"},"status":{"conditions":[{"type":"Succeeded","status":"Unknown"}]}},
		{"metadata":{"namespace":"ci","name":"waiting","uid":"w","resourceVersion":"300"}}]}`)

	for name, takeOver := range map[string]func(*standby, atWork, handler.Queue){
		"first list": func(*standby, atWork, handler.Queue) {},
		"take-over":  func(s *standby, runs atWork, q handler.Queue) { s.takeOver(runs, q) },
	} {
		t.Run(name, func(t *testing.T) {
			var s standby
			s.over.Store(name == "first list")
			store, runs := cacheOfRuns()
			queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
			handle := handler.When(s.isOver, enqueueRun("taskruns", &runs, queue))
			takeIn(t, store, firstList(t, store, runs.succeeded, list.String()), handle)
			takeOver(&s, runs, queue)
			if n := queue.Len(); n != 102 {
				t.Fatalf("%d keys of 102 are in the queue", n)
			}
			for _, want := range []string{"running", "waiting"} {
				key, _, err := queue.Get(t.Context())
				if err != nil || key.Name != want {
					t.Errorf("%s goes before %s; %v", key.Name, want, err)
				}
			}
		})
	}
}
