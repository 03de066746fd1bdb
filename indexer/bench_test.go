package indexer_test

import (
	"fmt"
	"runtime"
	"testing"

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
// beside the object itself, in bytes.
func BenchmarkOverhead(b *testing.B) {
	const n = 50000
	objects := make([]*wire.Object, n)
	for i := range objects {
		objects[i] = obj(b, fmt.Sprintf("p%05d", i), fmt.Sprint("u", i), "1", "app=web", fmt.Sprint("^o", i/2))
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
