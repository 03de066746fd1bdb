package main

import (
	"context"
	"time"

	"millrace/bench/server"
	"millrace/wire"
)

// events measures CPU time for one watch event, from the socket to the queue and
// out of it: twenty thousand changes of five thousand objects that the store
// has already, as fast as they can be taken in.
func events(id string, target float64, spec server.Spec) experiment {
	spec.Objects, spec.Events, spec.Seed = 2000, 10_000, 1
	return experiment{
		name: id, rounds: 3,
		metrics: []metric{{id: id, unit: "µs/event", target: target, noisy: true}},
		prepare: func(ctx context.Context) (*bench, error) {
			s, err := server.Start(ctx, spec)
			if err != nil {
				return nil, err
			}
			run := func(ctx context.Context, who side) ([]float64, error) {
				took, err := follow(ctx, who, s)
				return []float64{float64(took) / float64(time.Microsecond) / float64(spec.Events)}, err
			}
			return &bench{run, s.Close}, nil
		},
	}
}

// follow lets the events happen to a chain that is in step, and tells what they
// cost it.
func follow(ctx context.Context, who side, s *server.Server) (time.Duration, error) {
	c, err := who.synced(ctx, s)
	if err != nil {
		return 0, err
	}
	tidy()
	from := cpu()
	if err := s.Begin(ctx); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.Reached(ctx, s.Last()); err != nil {
		return 0, err
	}
	took := cpu() - from
	return took, c.Stop()
}

// The classes of TaskRuns by the size of their JSON in the last state: what a
// run of many steps or long scripts takes, and what most take.
func eventExperiments() []experiment {
	json, protobuf := []wire.Format{wire.JSON}, []wire.Format{wire.Protobuf}
	large := server.Spec{Resource: server.TaskRuns, Formats: json, Least: 6000, Most: 16000}
	small := server.Spec{Resource: server.TaskRuns, Formats: json, Least: 1500, Most: 3000}
	pods := server.Spec{Resource: server.Pods, Formats: protobuf}
	plain := func(s server.Spec) server.Spec {
		s.Plain = true
		return s
	}
	return []experiment{
		events("event-cpu-json", 0.08, large),
		events("event-cpu-json-2k", 0.08, small),
		events("event-cpu-proto", 0.25, pods),
		// What is left where the transport costs as little as can be.
		events("event-cpu-json-plain", 0.08, plain(large)),
		events("event-cpu-json-2k-plain", 0.08, plain(small)),
		events("event-cpu-proto-plain", 0.25, plain(pods)),
	}
}
