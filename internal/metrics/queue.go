package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/workqueue"
)

// Queue returns the hooks of a queue of that name, and a function to call with
// the queue once it is made: what can be read off it is read at each scrape.
// The names and the helps' meaning are client-go's.
func Queue[K comparable](r *Registry, name string) (workqueue.Trace[K], func(*workqueue.Queue[K])) {
	labels := prometheus.Labels{"name": name}
	seconds := func(metric, help string) prometheus.Histogram {
		return r.make.NewHistogram(prometheus.HistogramOpts{Name: metric, Help: help, ConstLabels: labels,
			Buckets: prometheus.ExponentialBuckets(1e-5, 10, 9)}) // 10 µs … 1000 s
	}
	waited := seconds("workqueue_queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested.")
	worked := seconds("workqueue_work_duration_seconds", "How long in seconds processing an item from workqueue takes.")
	trace := workqueue.Trace[K]{
		OnGet:  func(_ K, d time.Duration) { waited.Observe(d.Seconds()) },
		OnDone: func(_ K, d time.Duration) { worked.Observe(d.Seconds()) },
	}
	desc := func(metric, help string) *prometheus.Desc { return prometheus.NewDesc(metric, help, nil, labels) }
	depth := desc("workqueue_depth", "Current depth of workqueue: keys that could run now.")
	adds := desc("workqueue_adds_total", "Total number of adds handled by workqueue.")
	retries := desc("workqueue_retries_total", "Total number of retries handled by workqueue.")
	unfinished := desc("workqueue_unfinished_work_seconds", "How many seconds of work has been done that is in progress and hasn't been observed by work_duration.")
	longest := desc("workqueue_longest_running_processor_seconds", "How many seconds has the longest running processor for workqueue been running.")
	in := func(state string) *prometheus.Desc {
		return prometheus.NewDesc("workqueue_keys", "Keys in the workqueue by state: also those that wait for their time, which workqueue_depth leaves out.",
			nil, prometheus.Labels{"name": name, "state": state})
	}
	waiting, backingOff, ready, processing, dirty := in("waiting"), in("backing_off"), in("ready"), in("processing"), in("dirty")
	return trace, func(q *workqueue.Queue[K]) {
		r.collect(func(send func(*prometheus.Desc, prometheus.ValueType, float64)) {
			s := q.Stats()
			send(waiting, prometheus.GaugeValue, float64(s.Waiting))
			send(backingOff, prometheus.GaugeValue, float64(s.BackingOff))
			send(ready, prometheus.GaugeValue, float64(s.Ready))
			send(processing, prometheus.GaugeValue, float64(s.Processing))
			send(dirty, prometheus.GaugeValue, float64(s.Dirty))
			send(depth, prometheus.GaugeValue, float64(s.Ready+s.Dirty))
			send(adds, prometheus.CounterValue, float64(s.Adds))
			send(retries, prometheus.CounterValue, float64(s.Retries+s.Delays))
			send(unfinished, prometheus.GaugeValue, s.UnfinishedWork.Seconds())
			send(longest, prometheus.GaugeValue, s.LongestRunning.Seconds())
		}, waiting, backingOff, ready, processing, dirty, depth, adds, retries, unfinished, longest)
	}
}

// collect registers what is read off a stage at each scrape.
func (r *Registry) collect(read func(send func(*prometheus.Desc, prometheus.ValueType, float64)), descs ...*prometheus.Desc) {
	r.registry.MustRegister(reader{descs, read})
}

type reader struct {
	descs []*prometheus.Desc
	read  func(send func(*prometheus.Desc, prometheus.ValueType, float64))
}

func (c reader) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

func (c reader) Collect(ch chan<- prometheus.Metric) {
	c.read(func(d *prometheus.Desc, kind prometheus.ValueType, v float64) {
		ch <- prometheus.MustNewConstMetric(d, kind, v)
	})
}
