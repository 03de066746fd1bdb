package metrics

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/pipelinerun"
)

// PipelineRuns returns the hooks of the PipelineRun reconciler: as those of
// TaskRuns, Tekton's names with the label status alone.
func (r *Registry) PipelineRuns() pipelinerun.Trace {
	seconds := r.make.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "tekton_pipelines_controller_pipelinerun_duration_seconds",
		Help:    "How long PipelineRuns took in seconds, from start to completion.",
		Buckets: runBuckets(),
	}, []string{"status"})
	total := r.make.NewCounterVec(prometheus.CounterOpts{
		Name: "tekton_pipelines_controller_pipelinerun_total",
		Help: "PipelineRuns that have ended.",
	}, []string{"status"})
	noop := r.noops("pipelinerun")
	begin(total, "success", "failed", "cancelled")
	return pipelinerun.Trace{
		Done: func(d pipelinerun.Done) {
			status := endOfPipelineRun(d)
			total.WithLabelValues(status).Inc()
			seconds.WithLabelValues(status).Observe(d.Duration.Seconds())
		},
		Noop: func(types.NamespacedName) { noop.Inc() },
	}
}

func endOfPipelineRun(d pipelinerun.Done) string {
	switch {
	case d.Status == corev1.ConditionTrue:
		return "success"
	case d.Reason == string(crds.PipelineRunReasonCancelled):
		return "cancelled"
	default:
		return "failed"
	}
}

// RunningPipelineRuns exports how many PipelineRuns have not ended, as count says at
// each scrape.
func (r *Registry) RunningPipelineRuns(count func() int) {
	r.make.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tekton_pipelines_controller_running_pipelineruns",
		Help: "PipelineRuns that have not ended.",
	}, func() float64 { return float64(count()) })
}

// noops counts what a reconciler did nothing about.
func (r *Registry) noops(controller string) prometheus.Counter {
	return r.make.NewCounter(prometheus.CounterOpts{
		Name:        "reconcile_noop_total",
		Help:        "Reconciles that found nothing to do.",
		ConstLabels: prometheus.Labels{"controller": controller},
	})
}

// runBuckets are seconds: a run takes a moment, or a day.
func runBuckets() []float64 {
	return []float64{1, 5, 10, 30, 60, 300, 900, 1800, 3600, 5400, 10800, 21600, 43200, 86400}
}
