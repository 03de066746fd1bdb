package indexer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// BenchmarkApply is one new state of an object among ten thousand, whose index
// values stay the same.
func BenchmarkApply(b *testing.B) {
	x := indexer.New("pods")
	indexer.AddIndex(x, "owner", indexer.OwnerUID)
	indexer.AddIndex(x, "app", indexer.Label("app"))
	for i := range 10000 {
		put(x, obj(b, fmt.Sprintf("p%05d", i), fmt.Sprint("u", i), "1", "app=web", fmt.Sprint("^o", i)))
	}
	var entries []fifo.Entry
	for _, version := range []string{"2", "3"} {
		entries = append(entries, entry("p05000", version, updated(obj(b, "p05000", "u5000", version, "app=web", "^o5000"))))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		x.Apply(entries[i%2])
	}
}

// BenchmarkGet is one decoded read.
func BenchmarkGet(b *testing.B) {
	x := with(b, obj(b, "a", "u1", "1", "app=web", "^o1"))
	pods := indexer.Read[corev1.Pod](x)
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := pods.Get(key("a")); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOverhead reports what the store and its indices cost for each object
// beside the object itself, in bytes: fifty thousand pods in ten namespaces, with
// an owner each, and a label that all share.
func BenchmarkOverhead(b *testing.B) {
	const n = 50000
	objects := make([]*wire.Object, n)
	for i := range objects {
		objects[i] = scan(b, fmt.Sprintf(`{"metadata":{"namespace":"n%d","name":"p%05d","uid":"u%d","resourceVersion":"1","labels":{"app":"web"},"ownerReferences":[{"uid":"o%d"}]}}`, i%10, i, i, i))
	}
	var total int64
	for b.Loop() {
		before := heapInUse()
		x := indexer.New("pods")
		indexer.AddIndex(x, "owner", indexer.OwnerUID)
		indexer.AddIndex(x, "app", indexer.Label("app"))
		put(x, objects...)
		total += heapInUse() - before
		runtime.KeepAlive(x)
	}
	b.ReportMetric(float64(total)/float64(b.N)/n, "B/object")
}

// BenchmarkApplyBesideReaders is new states of objects among fifty thousand,
// while so many readers list all of them, over and over. It reports how long one
// takes; the average says little here, with sixty-six goroutines on few cores.
func BenchmarkApplyBesideReaders(b *testing.B) {
	const n = 50000
	for _, readers := range []int{0, 1, 64} {
		b.Run(strconv.Itoa(readers), func(b *testing.B) {
			x := indexer.New("pods")
			indexer.AddIndex(x, "owner", indexer.OwnerUID)
			apps := indexer.AddIndex(x, "app", indexer.Label("app"))
			var entries [2][]fifo.Entry
			for i := range n {
				for v := range entries {
					name := fmt.Sprintf("p%05d", i)
					entries[v] = append(entries[v], entry(name, fmt.Sprint(i+v*n+1), updated(obj(b, name, fmt.Sprint("u", i), fmt.Sprint(v+1), "app=web", fmt.Sprint("^o", i)))))
				}
				x.Apply(entries[0][i])
			}
			ctx, stop := context.WithCancel(context.Background())
			var group sync.WaitGroup
			for i := range readers {
				group.Go(func() {
					for ctx.Err() == nil {
						if i%2 == 0 {
							x.Objects("")
						} else {
							apps.Objects("web")
						}
					}
				})
			}
			took := make([]time.Duration, 0, b.N)
			b.ResetTimer()
			for i := range b.N {
				begin := time.Now()
				x.Apply(entries[i/n%2][i*7919%n])
				took = append(took, time.Since(begin))
			}
			b.StopTimer()
			stop()
			group.Wait()
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns")
			b.ReportMetric(float64(took[len(took)*999/1000].Nanoseconds()), "p999-ns")
		})
	}
}

// BenchmarkWaiters is one bookmark, while so many wait for something that is far
// off.
func BenchmarkWaiters(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			x := indexer.New("pods")
			ctx, stop := context.WithCancel(context.Background())
			at(x, "1")
			var group sync.WaitGroup
			for i := range n {
				group.Go(func() { _ = x.WaitFor(ctx, fmt.Sprint(1<<60+i)) })
			}
			for i := 2; b.Loop(); i++ {
				at(x, strconv.Itoa(i))
			}
			stop()
			group.Wait()
		})
	}
}
