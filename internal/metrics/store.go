package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/fifo"
	"millrace/indexer"
)

// The tiers of a store: objects as they were delivered, and packed ones.
const plain, packed = "plain", "packed"

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
	tiered := func(name, help, tier string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, nil, prometheus.Labels{"resource": resource, "tier": tier})
	}
	objects := func(tier string) *prometheus.Desc {
		return tiered("informer_store_objects", "Objects in the cache, by tier.", tier)
	}
	size := func(tier string) *prometheus.Desc {
		return tiered("informer_store_bytes", "Bytes that the objects in the cache take, by tier; the tables around them are not counted.", tier)
	}
	plainObjects, packedObjects, plainSize, packedSize := objects(plain), objects(packed), size(plain), size(packed)
	dictionaries := desc("informer_store_dictionary_bytes", "Bytes of the dictionaries that packed objects need.")
	packs := desc("informer_store_packs_total", "Objects that were packed, because nobody read them.")
	unpacks := desc("informer_store_unpacks_total", "Objects that were unpacked, to be read or to be compared with their next state.")
	failures := desc("informer_index_failures_total", "Objects that an index function has panicked over.")
	saved := desc("informer_transform_saved_bytes_total", "Bytes that were cut from objects before they were kept.")
	decodes := desc("informer_decode_total", "Objects that were decoded for a reader.")
	version := desc("informer_store_resource_version", "How far the cache has come: the last 15 digits of its resourceVersion.")
	trace := fifo.Trace{Done: func(e fifo.Entry) { observe(latency, e) }}
	return trace, func(x *indexer.Indexer, f *fifo.FIFO) {
		r.collect(func(send func(*prometheus.Desc, prometheus.ValueType, float64)) {
			s := x.Stats()
			send(queued, prometheus.GaugeValue, float64(f.Len()))
			send(plainObjects, prometheus.GaugeValue, float64(s.Plain.Objects))
			send(packedObjects, prometheus.GaugeValue, float64(s.Packed.Objects))
			send(plainSize, prometheus.GaugeValue, float64(s.Plain.Bytes))
			send(packedSize, prometheus.GaugeValue, float64(s.Packed.Bytes))
			send(dictionaries, prometheus.GaugeValue, float64(s.DictionaryBytes))
			send(packs, prometheus.CounterValue, float64(s.Packs))
			send(unpacks, prometheus.CounterValue, float64(s.Unpacks))
			send(failures, prometheus.CounterValue, float64(s.IndexFailures))
			send(saved, prometheus.CounterValue, float64(s.SavedBytes))
			send(decodes, prometheus.CounterValue, float64(s.Decodes))
			if v, ok := digits(x.ResourceVersion()); ok {
				send(version, prometheus.GaugeValue, v)
			}
		}, queued, plainObjects, packedObjects, plainSize, packedSize, dictionaries, packs, unpacks, failures, saved, decodes, version)
	}
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
