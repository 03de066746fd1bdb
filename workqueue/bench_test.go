package workqueue_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/workqueue"
)

type key = types.NamespacedName

func namespace(k key) string { return k.Namespace }

var change = workqueue.Cause{Source: "pods", Event: "update", OldRV: "7", NewRV: "9"}

func someKeys(n int) []key {
	keys := make([]key, n)
	for i := range keys {
		keys[i] = key{Namespace: fmt.Sprintf("team-%d", i%7), Name: fmt.Sprintf("run-%d", i)}
	}
	return keys
}

// BenchmarkAddGetDone is the life of a key that is well.
func BenchmarkAddGetDone(b *testing.B) {
	for _, fair := range []bool{false, true} {
		b.Run(fmt.Sprintf("fair=%v", fair), func(b *testing.B) {
			var cfg workqueue.Config[key]
			if fair {
				cfg.Namespace = namespace
			}
			q := workqueue.New(cfg)
			keys := someKeys(64)
			ctx := b.Context()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q.Add(keys[i%len(keys)], change)
				k, _, err := q.Get(ctx)
				if err != nil {
					b.Fatal(err)
				}
				q.Done(k)
			}
		})
	}
}

// BenchmarkWorkers is one adder and eight workers, for each key that went
// through. The adder waits when it is far ahead, or most of its keys would be
// merged with those that wait, which costs little.
func BenchmarkWorkers(b *testing.B) {
	q := workqueue.New(workqueue.Config[key]{Namespace: namespace})
	keys := someKeys(4096)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for {
				k, _, err := q.Get(context.Background())
				if err != nil {
					return
				}
				q.Done(k)
			}
		})
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		q.Add(keys[i%len(keys)], change)
		for i%64 == 0 && q.Len() > 128 {
			runtime.Gosched()
		}
	}
	q.ShutDown()
	wg.Wait()
}

// BenchmarkBackingOffHeap reports what a key costs while it backs off.
func BenchmarkBackingOffHeap(b *testing.B) {
	const n = 100_000
	keys := someKeys(n)
	for b.Loop() {
		before := heap()
		q := workqueue.New(workqueue.Config[key]{Limiter: workqueue.Exponential(time.Hour, time.Hour)})
		for _, k := range keys {
			q.AddRateLimited(k, workqueue.Cause{Source: "reconcile", Event: "retry"})
		}
		b.ReportMetric(float64(heap()-before)/n, "B/key")
		q.ShutDown()
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
