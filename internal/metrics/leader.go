package metrics

import "github.com/prometheus/client_golang/prometheus"

// Leader returns a function to call when this process begins to work as the leader, and
// when it has ended. Until then it is 0.
func (r *Registry) Leader(lease string) func(leading bool) {
	status := r.make.NewGauge(prometheus.GaugeOpts{
		Name:        "leader_election_master_status",
		Help:        "Whether this process leads, and has begun to work: 1 yes, 0 no.",
		ConstLabels: prometheus.Labels{"name": lease},
	})
	return func(leading bool) {
		if leading {
			status.Set(1)
		} else {
			status.Set(0)
		}
	}
}
