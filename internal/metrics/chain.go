package metrics

import (
	"millrace/fifo"
	"millrace/indexer"
	"millrace/reflector"
)

// A Chain watches the stages of one resource: hand FIFO and Source to the
// stages when they are made, and the stages to Watch then.
type Chain struct {
	FIFO   fifo.Trace
	Source reflector.Trace
	// Watch exports what is read off the stages at each scrape.
	Watch func(*reflector.Reflector, *fifo.FIFO, *indexer.Indexer)
}

// Chain makes the metrics of the chain of a resource, named in the plural.
func (r *Registry) Chain(resource string) Chain {
	source, watchSource := r.source(resource)
	queue, watchStore := r.store(resource)
	return Chain{queue, source, func(s *reflector.Reflector, f *fifo.FIFO, x *indexer.Indexer) {
		watchSource(s)
		watchStore(x, f)
	}}
}
