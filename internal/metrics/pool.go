package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
)

// Pool returns the hooks of the pool of a controller with so many workers. The
// names are controller-runtime's, but for the last two.
func (r *Registry) Pool(controller string, workers int) reconcile.Trace {
	labels := prometheus.Labels{"controller": controller}
	total := r.counters("controller_runtime_reconcile_total", "Total number of reconciliations per controller.", labels, "result")
	errors := r.counter("controller_runtime_reconcile_errors_total", "Total number of reconciliation errors per controller.", labels)
	panics := r.counter("controller_runtime_reconcile_panics_total", "Total number of reconciliation panics per controller.", labels)
	seconds := r.make.NewHistogram(prometheus.HistogramOpts{
		Name:        "controller_runtime_reconcile_time_seconds",
		Help:        "Length of time per reconciliation per controller.",
		ConstLabels: labels,
		Buckets:     []float64{0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60},
	})
	gauge := func(name, help string) prometheus.Gauge {
		return r.make.NewGauge(prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels})
	}
	gauge("controller_runtime_max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller.").Set(float64(workers))
	active := gauge("controller_runtime_active_workers", "Number of currently used workers per controller.")
	triggers := r.counters("reconcile_trigger_total", "What reconciles were for: events, by resource or stage and kind.", labels, "cause")
	stale := r.counter("stale_sync_waits_total", "Waits for a cache to show the key's own last writes that took too long.", labels)
	begin(total, reconcile.Succeeded, reconcile.RequeuedAfter, reconcile.Requeued, reconcile.Failed, reconcile.FailedForGood)
	return reconcile.Trace{
		OnStart: func(types.NamespacedName) { active.Inc() },
		OnReconcile: func(done reconcile.Reconciled) {
			active.Dec()
			total.WithLabelValues(string(done.Outcome)).Inc()
			seconds.Observe(done.Took.Seconds())
			if done.Err != nil {
				errors.Inc()
			}
			for _, c := range done.Causes {
				triggers.WithLabelValues(strings.TrimSpace(c.Source + " " + c.Event)).Add(float64(c.Count))
			}
		},
		OnPanic:     func(types.NamespacedName, *reconcile.PanicError) { panics.Inc() },
		OnStaleWait: func(types.NamespacedName, time.Duration, error) { stale.Inc() },
	}
}

// Alarms exports the keys of a pool that are held back because something is wrong
// with them, and how often it has held one back.
func (r *Registry) Alarms(controller string, pool *reconcile.Pool) {
	labels := prometheus.Labels{"controller": controller}
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, labels) }
	hot := desc("reconcile_hot_loop_keys", "Keys that run again and again though nothing changes, and are held back for it.")
	poison := desc("reconcile_poisoned_keys", "Keys whose reconcile panics again and again; they are tried ever more rarely.")
	damped := desc("reconcile_damped_total", "How often a key in a hot loop was held back.")
	r.collect(func(send func(*prometheus.Desc, prometheus.ValueType, float64)) {
		kinds := map[reconcile.AlarmKind]float64{}
		for _, a := range pool.Alarms() {
			kinds[a.Kind]++
		}
		send(hot, prometheus.GaugeValue, kinds[reconcile.HotLoop])
		send(poison, prometheus.GaugeValue, kinds[reconcile.Poison])
		send(damped, prometheus.CounterValue, float64(pool.Damped()))
	}, hot, poison, damped)
}
