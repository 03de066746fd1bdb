// Package metrics is where the stages' hooks become Prometheus metrics: each
// function makes the series of one stage and returns the Trace to hand to it,
// or registers a collector that reads the stage's own counts at scrape time.
//
// Names that dashboards already know are theirs to the letter: client-go's
// workqueue_* and rest_client_*, controller-runtime's controller_runtime_*,
// Tekton's tekton_pipelines_controller_*. Labels are bounded: resources,
// controllers, causes and codes, never names of objects.
//
// Nothing here is global: a Registry belongs to one run of the program, so two
// of them in one process (as in simulations) do not meet.
package metrics

import (
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Registry collects the metrics of one run of the program. Its methods may
// be called from any goroutine, each once per stage: a second series of the
// same name and labels is a programmer's mistake, and panics.
type Registry struct {
	registry *prometheus.Registry
	make     promauto.Factory
	part     atomic.Pointer[prometheus.Registry] // nil if none was asked for
}

// New returns a Registry with the metrics of the Go runtime and the process.
func New() *Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return &Registry{registry: r, make: promauto.With(r)}
}

// Part is a Registry for what may be made anew while the program goes on. What it
// collects is served with the rest, until the next Part takes its place: then its
// series begin again, as they would after a restart.
func (r *Registry) Part() *Registry {
	part := prometheus.NewRegistry()
	r.part.Store(part)
	return &Registry{registry: part, make: promauto.With(part)}
}

// Handler serves the metrics, those of the Part too, in Prometheus' text and OpenMetrics formats.
func (r *Registry) Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		all := prometheus.Gatherers{r.registry}
		if part := r.part.Load(); part != nil {
			all = append(all, part)
		}
		promhttp.HandlerFor(all, promhttp.HandlerOpts{EnableOpenMetrics: true}).ServeHTTP(w, request)
	})
}
