package main

import (
	"fmt"
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

// hear takes the i-th state of a run into the store, and tells the handlers.
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
	store := indexer.New("taskruns")
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
	s.takeOver(store, queue)
	news.Wait()
	if n := queue.Len(); n != 2000 {
		t.Errorf("%d keys of 2000 are in the queue", n)
	}
}

// A store that nobody has read for long is packed, and each of its keys would keep
// the object that it is a part of, for as long as the key is remembered.
func TestTheKeysOfATakeOverKeepNoObject(t *testing.T) {
	var s standby
	store := indexer.New("taskruns")
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
	hear(t, store, 1, func(indexer.Change) {})
	s.takeOver(store, queue)
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
