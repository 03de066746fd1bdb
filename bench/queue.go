package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/bench/peer"
	"millrace/workqueue"
)

// queue is what both queues can do.
type queue interface {
	Add(key types.NamespacedName)
	// AddRateLimited is for a queue that was made with slow backoffs.
	AddRateLimited(key types.NamespacedName)
	Get() (key types.NamespacedName, ok bool)
	Done(key types.NamespacedName)
	Len() int
	ShutDown()
}

// ourQueue is fair between namespaces, as main.go makes it, and is told a cause
// with each key.
type ourQueue struct {
	*workqueue.Queue[types.NamespacedName]
}

func newQueue(s side, backoff time.Duration) queue {
	if s == them {
		return peer.NewQueue(backoff)
	}
	cfg := workqueue.Config[types.NamespacedName]{Namespace: func(k types.NamespacedName) string { return k.Namespace }}
	if backoff > 0 {
		cfg.Limiter = workqueue.Exponential(backoff, backoff)
	}
	return ourQueue{workqueue.New(cfg)}
}

func (q ourQueue) Add(key types.NamespacedName) {
	q.Queue.Add(key, workqueue.Cause{Source: "pods", Event: "update", OldRV: "400000001", NewRV: "400000002"})
}

func (q ourQueue) AddRateLimited(key types.NamespacedName) {
	q.Queue.AddRateLimited(key, workqueue.Cause{Source: "reconcile", Event: "retry"})
}

func (q ourQueue) Get() (types.NamespacedName, bool) {
	key, _, err := q.Queue.Get(context.Background())
	return key, err == nil
}

func someKeys(n int) []types.NamespacedName {
	keys := make([]types.NamespacedName, n)
	for i := range keys {
		keys[i] = types.NamespacedName{Namespace: fmt.Sprintf("team-%d", i%40), Name: fmt.Sprintf("run-%06d", i)}
	}
	return keys
}

// queueing measures a key's way through the queue: with one goroutine that does
// all of it, and with eight workers and one that adds.
func queueing() experiment {
	const keys, times = 4096, 1_000_000
	all := someKeys(keys)
	return experiment{
		name: "queue", rounds: 5,
		metrics: []metric{
			{id: "queue-1", unit: "ns/key", target: 1, noisy: true},
			{id: "queue-8", unit: "ns/key", target: 1, noisy: true},
			{id: "queue-allocs", unit: "allocs/key", target: 0, absolute: true},
		},
		prepare: func(context.Context) (*bench, error) {
			return &bench{run: func(_ context.Context, who side) ([]float64, error) {
				alone, allocs := oneWorker(newQueue(who, 0), all, times)
				crowd := eightWorkers(newQueue(who, 0), all, times)
				return []float64{float64(alone) / times, float64(crowd) / times, allocs}, nil
			}}, nil
		},
	}
}

// oneWorker tells processor time, and allocations for each key.
func oneWorker(q queue, keys []types.NamespacedName, times int) (took time.Duration, allocs float64) {
	defer q.ShutDown()
	const atOnce = 16 // so that the queue is a queue
	pass := func(from, n int) {
		for i := from; i < from+n; i += atOnce {
			for j := range atOnce {
				q.Add(keys[(i+j)%len(keys)])
			}
			for range atOnce {
				key, _ := q.Get()
				q.Done(key)
			}
		}
	}
	pass(0, times/10)
	before, from := mallocs(), cpu()
	pass(0, times)
	took = cpu() - from
	return took, float64((mallocs()-before)/uint64(times/1000)) / 1000
}

// eightWorkers tells processor time. Whoever adds waits when it is far ahead, or
// most of its keys would be merged with those that wait, which costs little.
func eightWorkers(q queue, keys []types.NamespacedName, times int) time.Duration {
	var workers sync.WaitGroup
	from := cpu()
	for range 8 {
		workers.Go(func() {
			for {
				key, ok := q.Get()
				if !ok {
					return
				}
				q.Done(key)
			}
		})
	}
	for i := range times {
		q.Add(keys[i%len(keys)])
		for i%64 == 0 && q.Len() > 128 {
			runtime.Gosched()
		}
	}
	q.ShutDown()
	workers.Wait()
	return cpu() - from
}

// backingOff measures a hundred thousand keys that wait for the end of a backoff.
func backingOff() experiment {
	const keys = 100_000
	all := someKeys(keys)
	return experiment{
		name: "queue-backoff", rounds: 2,
		metrics: []metric{
			{id: "queue-backoff-heap", unit: "B/key", target: 1},
			{id: "queue-backoff-cpu", unit: "ms/s", target: 1, absolute: true, noisy: true},
		},
		prepare: func(context.Context) (*bench, error) {
			return &bench{run: func(_ context.Context, who side) ([]float64, error) {
				before := retained()
				q := newQueue(who, time.Hour)
				defer q.ShutDown()
				for _, key := range all {
					q.AddRateLimited(key)
				}
				rest(200 * time.Millisecond) // client-go takes the last of them in beside the caller
				after := retained()
				const still = 2 * time.Second
				from := cpu()
				rest(still)
				idle := cpu() - from
				runtime.KeepAlive(q)
				return []float64{float64(after-before) / keys, float64(idle) / float64(time.Millisecond) / still.Seconds()}, nil
			}}, nil
		},
	}
}

// rest lets time pass in which nothing should happen.
func rest(d time.Duration) { time.Sleep(d) } //nolint:forbidigo // That is what is measured.
