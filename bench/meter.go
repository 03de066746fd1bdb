package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"syscall"
	"time"
)

// cpu is the processor time that this process has had, of the user's and of the
// kernel's. The server's is not in it.
func cpu() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // it knows of no failure but a wrong argument
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// tidy leaves nothing of what was before, for whoever measures next.
func tidy() {
	runtime.GC()
	debug.FreeOSMemory()
}

// retained is the bytes on the heap that somebody still holds.
func retained() int64 {
	runtime.GC()
	runtime.GC() // the first only empties what pools have kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// mallocs is the number of allocations so far.
func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// peak watches how large the heap is, garbage included.
type peak struct {
	stop chan struct{}
	done sync.WaitGroup
	most uint64
}

// often enough that little can be allocated between two looks; a look takes a
// microsecond.
const lookEvery = time.Millisecond

func watchHeap() *peak {
	p := &peak{stop: make(chan struct{})}
	p.done.Go(func() {
		ticker := time.NewTicker(lookEvery)
		defer ticker.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		for {
			metrics.Read(sample)
			p.most = max(p.most, sample[0].Value.Uint64())
			select {
			case <-p.stop:
				return
			case <-ticker.C:
			}
		}
	})
	return p
}

// end is the largest size that was seen.
func (p *peak) end() int64 {
	close(p.stop)
	p.done.Wait()
	return int64(p.most)
}
