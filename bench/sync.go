package main

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"millrace/bench/server"
	"millrace/wire"
)

// manyPods is how many pods are there at the start.
const manyPods = 50_000

// syncing measures a start with fifty thousand pods, what they take once they
// are there, and what it costs to be told all of it again because the server has
// forgotten where we were.
func syncing() experiment {
	return experiment{
		name: "sync and relist", rounds: 2,
		metrics: []metric{
			{id: "sync-heap", unit: "MiB at most", target: 0.25},
			{id: "sync-cpu", unit: "s", target: 0.4, noisy: true},
			{id: "sync-time", unit: "s", target: 0.7, noisy: true},
			{id: "heap-plain-pod", unit: "B/object", target: 0.35},
			{id: "relist-peak", unit: "× steady", target: 1.1, absolute: true},
			{id: "relist-calls", unit: "calls", target: 0, absolute: true},
		},
		prepare: func(ctx context.Context) (*bench, error) {
			s, err := server.Start(ctx, server.Spec{Resource: server.Pods, Formats: []wire.Format{wire.Protobuf}, Objects: manyPods, Events: 1, Seed: 2})
			if err != nil {
				return nil, err
			}
			return &bench{func(ctx context.Context, who side) ([]float64, error) { return syncAndRelist(ctx, who, s) }, s.Close}, nil
		},
	}
}

func syncAndRelist(ctx context.Context, who side, s *server.Server) ([]float64, error) {
	empty := retained()
	heap, from, began := watchHeap(), cpu(), time.Now()
	c, err := who.synced(ctx, s)
	if err != nil {
		return nil, err
	}
	took, waited, most := cpu()-from, time.Since(began), heap.end()-empty
	steady := retained() - empty
	again, calls, err := relist(ctx, c, s)
	if err != nil {
		return nil, err
	}
	if err := c.Stop(); err != nil {
		return nil, err
	}
	return []float64{
		float64(most) / (1 << 20),
		took.Seconds(),
		waited.Seconds(),
		float64(steady) / manyPods,
		float64(again-empty) / float64(steady),
		float64(calls),
	}, nil
}

// relist makes the server forget, and waits until the chain is back in step,
// which the one event after the list tells.
func relist(ctx context.Context, c chain, s *server.Server) (peak, calls int64, err error) {
	before, err := s.Count(ctx)
	if err != nil {
		return 0, 0, err
	}
	calls = c.Calls()
	heap := watchHeap()
	defer func() { peak = heap.end() }()
	if err := s.Expire(ctx); err != nil {
		return 0, 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		now, err := s.Count(ctx)
		if err != nil {
			return 0, 0, err
		}
		if now.Lists > before.Lists {
			return 0, 0, fmt.Errorf("a list in pages, where a watch-list was expected: %+v", now)
		}
		if now.WatchLists > before.WatchLists {
			break
		}
		time.Sleep(5 * time.Millisecond) //nolint:forbidigo // The server is asked whether it was asked.
	}
	if err := s.Begin(ctx); err != nil {
		return 0, 0, err
	}
	if err := c.Reached(ctx, s.Last()); err != nil {
		return 0, 0, err
	}
	return 0, c.Calls() - calls - 1, nil
}

// resting measures what the objects of a resource take once they are there.
func resting(id string, spec server.Spec) experiment {
	return experiment{
		name: id, rounds: 2,
		metrics: []metric{{id: id, unit: "B/object", target: 0.35}},
		prepare: func(ctx context.Context) (*bench, error) {
			s, err := server.Start(ctx, spec)
			if err != nil {
				return nil, err
			}
			run := func(ctx context.Context, who side) ([]float64, error) {
				empty := retained()
				c, err := who.synced(ctx, s)
				if err != nil {
					return nil, err
				}
				full := retained()
				runtime.KeepAlive(c)
				return []float64{float64(full-empty) / float64(spec.Objects)}, c.Stop()
			}
			return &bench{run, s.Close}, nil
		},
	}
}

const (
	manyTaskRuns     = 20_000
	manyPipelineRuns = 10_000
)

func restingTaskRuns() experiment {
	return resting("heap-plain-taskrun", server.Spec{Resource: server.TaskRuns, Formats: []wire.Format{wire.JSON}, Objects: manyTaskRuns, Seed: 4})
}

func restingPipelineRuns() experiment {
	return resting("heap-plain-pipelinerun", server.Spec{Resource: server.PipelineRuns, Formats: []wire.Format{wire.JSON}, Objects: manyPipelineRuns, Seed: 4})
}
