package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/reflector"
)

// A Chain watches the stages of one resource: hand FIFO and Source to the
// stages when they are made, and the stages to Watch then.
type Chain struct {
	FIFO   fifo.Trace
	Source reflector.Trace
	// Foreign is told of each object that came though it is another replica's.
	Foreign func()
	// Watch exports what is read off the stages at each scrape.
	Watch func(*reflector.Reflector, *fifo.FIFO, *indexer.Indexer)
}

// Chain makes the metrics of the chain of a resource, named in the plural.
func (r *Registry) Chain(resource string) Chain {
	source, watchSource := r.source(resource)
	queue, watchStore := r.store(resource)
	foreign := r.counter("informer_foreign_objects_total",
		"Objects of namespaces that are another replica's, which came and were dropped: the server does not select by shard.", prometheus.Labels{"resource": resource})
	return Chain{queue, source, foreign.Inc, func(s *reflector.Reflector, f *fifo.FIFO, x *indexer.Indexer) {
		watchSource(s)
		watchStore(x, f)
	}}
}
