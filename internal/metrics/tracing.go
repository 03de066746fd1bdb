package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"millrace/internal/tracing"
)

// Tracing returns the hooks of tracing that is on. Without it there are no such series.
func (r *Registry) Tracing() tracing.Trace {
	delivered := r.make.NewCounter(prometheus.CounterOpts{
		Name: "tracing_spans_delivered_total",
		Help: "Spans that the collector has answered for.",
	})
	dropped := r.make.NewCounterVec(prometheus.CounterOpts{
		Name: "tracing_spans_dropped_total",
		Help: "Spans that are lost: full, made faster than the collector takes them; undelivered, not taken though asked again; rejected, by the collector; forgotten, causes that waited with too many others.",
	}, []string{"reason"})
	begin(dropped, tracing.Full, tracing.Undelivered, tracing.Rejected, tracing.Forgotten)
	return tracing.Trace{
		Delivered: func(spans int) { delivered.Add(float64(spans)) },
		Dropped:   func(why tracing.Loss, spans int) { dropped.WithLabelValues(string(why)).Add(float64(spans)) },
	}
}
