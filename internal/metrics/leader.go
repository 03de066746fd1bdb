package metrics

import "github.com/prometheus/client_golang/prometheus"

// Leader returns a function to call when this process gets or loses the lead.
func (r *Registry) Leader(lease string) func(leading bool) {
	status := r.make.NewGauge(prometheus.GaugeOpts{
		Name:        "leader_election_master_status",
		Help:        "Whether this process leads: 1 yes, 0 no.",
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
