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
}

// New returns a Registry with the metrics of the Go runtime and the process.
func New() *Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewBuildInfoCollector(),
	)
	return &Registry{r, promauto.With(r)}
}

// Handler serves the metrics in Prometheus' text and OpenMetrics formats.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(r.registry, promhttp.HandlerOpts{EnableOpenMetrics: true})
}
