package main

import (
	"bytes"
	"context"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/types"

	"millrace/bench/ours"
	"millrace/bench/peer"
	"millrace/bench/server"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/transform"
	"millrace/wire"
	"millrace/workqueue"
)

// allocations counts what is allocated for an event after it was read: from the
// object that the scan, or client-go's decoder, has made, through the stores and
// the handler, into the queue and out of it. Each event is taken in before the
// next one comes, so that none is merged with another.
func allocations() experiment {
	spec := server.Spec{Resource: server.Pods, Formats: []wire.Format{wire.Protobuf}, Objects: 1000, Events: 5000, Seed: 1}
	return experiment{
		name: "event-allocs", rounds: 2,
		metrics: []metric{{id: "event-allocs", unit: "allocs/event", target: 4, absolute: true}},
		prepare: func(context.Context) (*bench, error) {
			initial, events, err := spec.Frames(wire.Protobuf)
			if err != nil {
				return nil, err
			}
			run := func(ctx context.Context, who side) ([]float64, error) {
				var n uint64
				if who == us {
					n, err = allocsOfOurs(ctx, initial, events)
				} else {
					n, err = peer.Allocations(ctx, initial, events, mallocs)
				}
				return []float64{float64(n) / float64(spec.Events)}, err
			}
			return &bench{run: run}, nil
		},
	}
}

// allocsOfOurs is what all of it allocates, less what the scan allocates alone.
func allocsOfOurs(ctx context.Context, initial, events []byte) (uint64, error) {
	var scanner wire.Scanner
	x := indexer.New("pods")
	f := fifo.New(x, fifo.Config{Transform: transform.Default()})
	q := workqueue.New(workqueue.Config[types.NamespacedName]{Namespace: func(k types.NamespacedName) string { return k.Namespace }})
	handle := ours.Handler(server.Pods, q)
	handled := make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(ctx)
	stored := make(chan error, 1)
	go func() {
		stored <- x.Run(ctx, f, func(c indexer.Change) {
			handle(c)
			handled <- struct{}{}
		})
	}()
	take := func(o *wire.Object) error {
		if err := f.Update(o); err != nil {
			return err
		}
		<-handled
		key, _, err := q.Get(ctx)
		q.Forget(key)
		q.Done(key)
		return err
	}
	if err := eachEvent(&scanner, initial, take); err != nil {
		cancel()
		return 0, err
	}
	from := mallocs()
	err := eachEvent(&scanner, events, take)
	all := mallocs() - from
	from = mallocs()
	err = errors.Join(err, eachEvent(&scanner, events, func(*wire.Object) error { return nil }))
	scan := mallocs() - from
	cancel()
	return all - scan, errors.Join(err, <-stored)
}

func eachEvent(scanner *wire.Scanner, stream []byte, take func(*wire.Object) error) error {
	events := scanner.Events(wire.Protobuf, bytes.NewReader(stream))
	for {
		event, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if event.Type == wire.Bookmark {
			continue
		}
		if err := take(event.Object); err != nil {
			return err
		}
	}
}
