package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"millrace/shard"
)

// Sharding returns the hooks of a replica that shares the work with others.
func (r *Registry) Sharding() shard.Trace {
	gauge := func(name, help string) prometheus.Gauge {
		return r.make.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	members := gauge("sharding_members", "Replicas that hold the Lease of a shard, as this one sees them.")
	version := gauge("sharding_division_version", "How often the namespaces have been divided anew.")
	share := gauge("sharding_share_ratio", "How much of the hashes of all namespaces this replica works on: those of all replicas add up to 1, unless a share is changing hands.")
	begun := r.make.NewCounter(prometheus.CounterOpts{
		Name: "sharding_shares_total",
		Help: "Shares that this replica has begun to work on, with empty caches.",
	})
	return shard.Trace{
		Looked: func(n, v int) { members.Set(float64(n)); version.Set(float64(v)) },
		Began:  func(of shard.Range) { begun.Inc(); share.Set(of.Fraction()) },
		Ended:  func(shard.Range) { share.Set(0) },
	}
}
