package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/bench/objects"
	"millrace/bench/ours"
	"millrace/bench/peer"
	"millrace/bench/server"
	"millrace/indexer"
	"millrace/wire"
)

// reading measures the price that bytes have: Get of a pod that is plain, which
// decodes it, beside Get of controller-runtime's cache, which copies a struct.
// Every pod is asked for in turn, since their sizes differ.
func reading() experiment {
	const gets = 20_000
	spec := server.Spec{Resource: server.Pods, Formats: []wire.Format{wire.JSON, wire.Protobuf}, Objects: 500, Seed: 6}
	return experiment{
		name: "get-hot", rounds: 3,
		metrics: []metric{{id: "get-hot", unit: "µs", target: 3, noisy: true}},
		prepare: func(ctx context.Context) (*bench, error) {
			s, err := server.Start(ctx, spec)
			if err != nil {
				return nil, err
			}
			m, err := objects.New(spec.Seed, objects.Measured)
			if err != nil {
				return nil, err
			}
			scanned, err := spec.Scanned(wire.Protobuf, m)
			if err != nil {
				return nil, err
			}
			run := func(ctx context.Context, who side) ([]float64, error) {
				ctx, cancel := context.WithTimeout(ctx, patience)
				defer cancel()
				get, stop, err := getter(ctx, who, s)
				if err != nil {
					return nil, err
				}
				defer stop()
				tidy()
				from := cpu()
				for i := range gets {
					if err := get(scanned[i%len(scanned)].Key()); err != nil {
						return nil, err
					}
				}
				return []float64{float64(cpu()-from) / float64(time.Microsecond) / gets}, nil
			}
			return &bench{run, s.Close}, nil
		},
	}
}

// getter reads one pod from a cache that is in step.
func getter(ctx context.Context, who side, s *server.Server) (get func(types.NamespacedName) error, stop func(), err error) {
	if who == them {
		return peer.Getter(ctx, s.URL)
	}
	c, err := ours.Start(ctx, s.URL, s.Resource)
	if err != nil {
		return nil, nil, err
	}
	if err := c.Synced(ctx); err != nil {
		return nil, nil, err
	}
	pods := indexer.Read[corev1.Pod](c.Objects)
	get = func(key types.NamespacedName) error {
		pod, there, err := pods.Get(key)
		if err != nil || !there || pod.Name != key.Name {
			return fmt.Errorf("get %s: %v, %w", key, there, err)
		}
		return nil
	}
	return get, func() { _ = c.Stop() }, nil
}
