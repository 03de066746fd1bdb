package wire_test

import (
	"runtime"
	"testing"

	"millrace/wire"
)

// BenchmarkPack packs objects of each kind, and reports what they take then:
// of the heap, all told but the dictionary.
func BenchmarkPack(b *testing.B) {
	for _, k := range packables {
		b.Run(k.name, func(b *testing.B) {
			objects := k.some(b, 2, 500)
			p := packer(b, k.some(b, 1, 40)...)
			packed := make([]*wire.Packed, len(objects))
			for i, o := range objects { // whatever the packer keeps, it has it now
				packed[i] = p.Pack(o)
			}
			clear(packed)
			before := heapAlloc()
			for i, o := range objects {
				packed[i] = p.Pack(o)
			}
			taken, raw, size := heapAlloc()-before, 0, 0
			for i, o := range objects {
				raw += len(o.Bytes())
				size += packed[i].Size()
			}
			for i := 0; b.Loop(); i++ {
				p.Pack(objects[i%len(objects)])
			}
			b.ReportMetric(float64(raw)/float64(len(objects)), "wire-B/object")
			b.ReportMetric(float64(size)/float64(len(objects)), "size-B/object")
			b.ReportMetric(float64(taken)/float64(len(objects)), "heap-B/object")
			runtime.KeepAlive(packed)
			runtime.KeepAlive(p)
		})
	}
}

func heapAlloc() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func BenchmarkUnpack(b *testing.B) {
	for _, k := range packables {
		b.Run(k.name, func(b *testing.B) {
			objects := k.some(b, 2, 100)
			p := packer(b, k.some(b, 1, 40)...)
			packed := make([]*wire.Packed, len(objects))
			for i, o := range objects {
				packed[i] = p.Pack(o)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := packed[i%len(packed)].Object(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDictionary reports what one takes with its decoder, once it is used,
// and what a packer takes while there is one.
func BenchmarkDictionary(b *testing.B) {
	k := packables[0]
	samples, o := k.some(b, 1, 40), k.some(b, 2, 1)[0]
	var first, second int64
	for b.Loop() {
		before := heapAlloc()
		d := dictionary(b, samples...)
		p, err := d.Packer()
		if err != nil {
			b.Fatal(err)
		}
		packed := p.Pack(o)
		both := heapAlloc()
		runtime.KeepAlive(p)
		alone := heapAlloc()
		if _, err := packed.Object(); err != nil {
			b.Fatal(err)
		}
		first, second = first+alone-before, second+both-alone
	}
	b.ReportMetric(float64(first)/float64(b.N), "B/dictionary")
	b.ReportMetric(float64(second)/float64(b.N), "B/packer")
}
