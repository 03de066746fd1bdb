package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/fifo"
	"millrace/indexer"
)

// plain is the tier of objects that are kept as they were delivered.
const plain = "plain"

// store is the size of a cache and of what waits before it, and how long
// objects waited there.
func (r *Registry) store(resource string) (fifo.Trace, func(*indexer.Indexer, *fifo.FIFO)) {
	labels := prometheus.Labels{"resource": resource}
	latency := r.make.NewHistogram(prometheus.HistogramOpts{
		Name:        "informer_processing_latency_seconds",
		Help:        "How long in seconds news waited between the watch and the cache, handlers included.",
		ConstLabels: labels,
		Buckets:     prometheus.ExponentialBuckets(1e-5, 10, 7), // 10 µs … 10 s
	})
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, labels) }
	queued := desc("informer_queued_items", "Objects whose news waits to be taken into the cache.")
	objects := prometheus.NewDesc("informer_store_objects", "Objects in the cache, by tier.", nil, withTier(labels))
	size := prometheus.NewDesc("informer_store_bytes", "Bytes that the objects in the cache take, by tier; the maps around them are not counted.", nil, withTier(labels))
	saved := desc("informer_transform_saved_bytes_total", "Bytes that were cut from objects before they were kept.")
	decodes := desc("informer_decode_total", "Objects that were decoded for a reader.")
	version := desc("informer_store_resource_version", "How far the cache has come: the last 15 digits of its resourceVersion.")
	trace := fifo.Trace{Done: func(e fifo.Entry) { observe(latency, e) }}
	return trace, func(x *indexer.Indexer, f *fifo.FIFO) {
		r.collect(func(send func(*prometheus.Desc, prometheus.ValueType, float64)) {
			s := x.Stats()
			send(queued, prometheus.GaugeValue, float64(f.Len()))
			send(objects, prometheus.GaugeValue, float64(s.Objects))
			send(size, prometheus.GaugeValue, float64(s.Bytes))
			send(saved, prometheus.CounterValue, float64(s.SavedBytes))
			send(decodes, prometheus.CounterValue, float64(s.Decodes))
			if v, ok := digits(x.ResourceVersion()); ok {
				send(version, prometheus.GaugeValue, v)
			}
		}, queued, objects, size, saved, decodes, version)
	}
}

func withTier(labels prometheus.Labels) prometheus.Labels {
	return prometheus.Labels{"resource": labels["resource"], "tier": plain}
}

func observe(latency prometheus.Histogram, e fifo.Entry) {
	for _, d := range e.Deltas {
		if !d.Received.IsZero() {
			latency.Observe(time.Since(d.Received).Seconds())
			return // the first has waited longest
		}
	}
}

// digits keeps what a float64 can hold exactly, as client-go's metric of this
// name does.
func digits(resourceVersion string) (float64, bool) {
	if n := len(resourceVersion); n > 15 {
		resourceVersion = resourceVersion[n-15:]
	}
	v, err := strconv.ParseFloat(resourceVersion, 64)
	return v, err == nil
}
