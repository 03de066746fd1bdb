package metrics

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/taskrun"
)

// TaskRuns returns the hooks of the TaskRun reconciler. Tekton's names, with
// the label status alone: a namespace or a Task for each series has no bound.
func (r *Registry) TaskRuns() taskrun.Trace {
	seconds := r.make.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "tekton_pipelines_controller_taskrun_duration_seconds",
		Help:    "How long TaskRuns took in seconds, from start to completion.",
		Buckets: runBuckets(),
	}, []string{"status"})
	ofPipelines := r.make.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "tekton_pipelines_controller_pipelinerun_taskrun_duration_seconds",
		Help:    "How long the TaskRuns of PipelineRuns took in seconds, from start to completion.",
		Buckets: runBuckets(),
	}, []string{"status"})
	total := r.make.NewCounterVec(prometheus.CounterOpts{
		Name: "tekton_pipelines_controller_taskrun_total",
		Help: "TaskRuns that have ended.",
	}, []string{"status"})
	noop := r.noops("taskrun")
	fellBack := r.make.NewCounter(prometheus.CounterOpts{
		Name: "taskrun_entrypoint_fallbacks_total",
		Help: "Pods that could not mount the entrypoint's image as a volume and were made again with an init container.",
	})
	begin(total, "success", "failed", "cancelled")
	return taskrun.Trace{
		Done: func(d taskrun.Done) {
			status := endStatus(d)
			total.WithLabelValues(status).Inc()
			if d.PipelineRun != "" { // as in Tekton, where each is in one of the two
				ofPipelines.WithLabelValues(status).Observe(d.Duration.Seconds())
				return
			}
			seconds.WithLabelValues(status).Observe(d.Duration.Seconds())
		},
		Noop:     func(types.NamespacedName) { noop.Inc() },
		FellBack: func(types.NamespacedName, string) { fellBack.Inc() },
	}
}

func endStatus(d taskrun.Done) string {
	switch {
	case d.Status == corev1.ConditionTrue:
		return "success"
	case d.Reason == string(crds.TaskRunReasonCancelled):
		return "cancelled"
	default:
		return "failed"
	}
}

// RunningTaskRuns exports how many TaskRuns have not ended, as count says at
// each scrape.
func (r *Registry) RunningTaskRuns(count func() int) {
	r.make.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tekton_pipelines_controller_running_taskruns",
		Help: "TaskRuns that have not ended.",
	}, func() float64 { return float64(count()) })
}
