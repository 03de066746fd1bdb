package main

import (
	"context"
	"runtime"

	"millrace/bench/objects"
	"millrace/bench/peer"
	"millrace/bench/server"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

const (
	manyIndexed = 50_000
	taskLabel   = "tekton.dev/task"
)

// indexing measures what the store and its indices (by namespace, owner and one
// label) take for each object, beside the object itself.
func indexing() experiment {
	spec := server.Spec{Resource: server.Pods, Objects: manyIndexed, Seed: 5}
	return experiment{
		name: "index-overhead", rounds: 2,
		metrics: []metric{{id: "index-overhead", unit: "B/object", target: 200, absolute: true}},
		prepare: func(context.Context) (*bench, error) {
			m, err := objects.New(spec.Seed, objects.Measured)
			if err != nil {
				return nil, err
			}
			scanned, err := spec.Scanned(wire.Protobuf, m)
			if err != nil {
				return nil, err
			}
			metas := peer.Metadata(scanned)
			run := func(_ context.Context, who side) ([]float64, error) {
				before := retained()
				var store any
				if who == us {
					store = index(scanned)
				} else {
					store, err = peer.Index(metas, taskLabel)
				}
				after := retained()
				runtime.KeepAlive(store)
				runtime.KeepAlive(scanned)
				runtime.KeepAlive(metas)
				return []float64{float64(after-before) / manyIndexed}, err
			}
			return &bench{run: run}, nil
		},
	}
}

func index(all []*wire.Object) *indexer.Indexer {
	x := indexer.New("pods")
	indexer.AddIndex(x, "owner", indexer.OwnerUID)
	indexer.AddIndex(x, "task", indexer.Label(taskLabel))
	for _, o := range all {
		x.Apply(entry(o))
	}
	return x
}

// entry is an object that is new, as the FIFO hands it over.
func entry(o *wire.Object) fifo.Entry {
	return fifo.Entry{Key: o.Key(), ResourceVersion: o.ResourceVersion(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}}
}
