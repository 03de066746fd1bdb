package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"millrace/bench/objects"
	"millrace/bench/server"
	"millrace/fifo"
	"millrace/indexer"
	"millrace/transform"
	"millrace/wire"
)

const manyPacked = 20_000

// packing measures what an object takes that nobody has read for a while. The
// dictionary comes from objects that are not measured, as a cluster's does from
// those that were there before.
//
// It is measured twice. Once the dictionary may have come from another run of the
// same Task, if it has room for one, as in a cluster where Tasks run again and
// again. And once it cannot: every Task is one that the dictionary has never
// seen.
func packing(resource server.Resource, f wire.Format, row string) experiment {
	return experiment{
		name: "heap-packed-" + row, rounds: 1,
		metrics: []metric{
			{id: "heap-packed-" + row, unit: "B/object", target: 0.08, peerOf: "heap-plain-" + row},
			{id: "heap-packed-" + row + "-new", unit: "B/object", target: 0.12, peerOf: "heap-plain-" + row},
		},
		prepare: func(context.Context) (*bench, error) {
			learnt, err := objects.New(8, objects.Dictionary)
			if err != nil {
				return nil, err
			}
			measured, err := objects.New(7, objects.Measured)
			if err != nil {
				return nil, err
			}
			run := func(ctx context.Context, _ side) ([]float64, error) {
				usual, err := packed(ctx, resource, f, learnt, measured)
				if err != nil {
					return nil, err
				}
				tidy()
				unseen, err := packed(ctx, resource, f, learnt.EveryOther(true), measured.EveryOther(false))
				return []float64{usual, unseen}, err
			}
			return &bench{run: run}, nil
		},
	}
}

// packed is how many bytes of the heap each object takes. The dictionary's
// objects are stored first, packed, and deleted; then the measured ones come.
func packed(ctx context.Context, resource server.Resource, f wire.Format, learnt, measured *objects.Maker) (perObject float64, err error) {
	samples, err := server.Spec{Resource: resource, Objects: 2000}.Scanned(f, learnt)
	if err != nil {
		return 0, err
	}
	all, err := server.Spec{Resource: resource, Objects: manyPacked}.Scanned(f, measured)
	if err != nil {
		return 0, err
	}
	empty := retained()
	var last indexer.Sweep
	x := indexer.New(string(resource))
	p := indexer.NewPacker(x, indexer.PackConfig{After: time.Minute, Every: time.Minute, Trace: indexer.PackTrace{Swept: func(s indexer.Sweep) { last = s }}})
	if err := fill(x, samples, fifo.Added); err != nil {
		return 0, err
	}
	if err := settle(ctx, x, p); err != nil {
		return 0, fmt.Errorf("the dictionary's half: %w", err)
	}
	if err := fill(x, samples, fifo.Deleted); err != nil {
		return 0, err
	}
	if err := fill(x, all, fifo.Added); err != nil {
		return 0, err
	}
	if err := settle(ctx, x, p); err != nil {
		return 0, fmt.Errorf("the measured half: %w", err)
	}
	if last.Dictionary || x.Stats().Dictionaries != 1 {
		return 0, errors.New("the measured half was packed with a dictionary of its own")
	}
	full := retained()
	runtime.KeepAlive(samples)
	runtime.KeepAlive(all)
	runtime.KeepAlive(x)
	runtime.KeepAlive(p)
	return float64(full-empty) / manyPacked, nil
}

// fill stores objects as a chain does, or deletes them.
func fill(x *indexer.Indexer, all []*wire.Object, what fifo.DeltaType) error {
	cut := transform.Default()
	for _, o := range all {
		kept, err := cut(o)
		if err != nil {
			return err
		}
		x.Apply(fifo.Entry{Key: o.Key(), ResourceVersion: o.ResourceVersion(), Deltas: []fifo.Delta{{Type: what, Object: kept.Own(), UID: o.UID()}}})
	}
	return nil
}

// settle lets all objects get old and be packed.
func settle(ctx context.Context, x *indexer.Indexer, p *indexer.Packer) error {
	for range 3 {
		if err := p.Sweep(ctx); err != nil {
			return err
		}
	}
	if s := x.Stats(); s.Plain.Objects*100 > s.Objects {
		return fmt.Errorf("%d of %d objects are not packed", s.Plain.Objects, s.Objects)
	}
	return nil
}
