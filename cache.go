package main

import (
	"context"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/internal/metrics"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/transform"
	"millrace/wire"
)

// A cache is the chain of a resource that is read and wakes nobody: Tasks, say,
// which are looked up when a run refers to one. It has every stage up to the
// indexer, and no handler behind it.
type cache struct {
	*indexer.Indexer

	fifo   *fifo.FIFO
	source *reflector.Reflector
}

// newCache wires the chain, as run does for the resources that wake somebody.
func newCache(client rest.Interface, resource string, cut transform.Func, seen metrics.Chain, cfg reflector.Config) cache {
	c := cache{Indexer: indexer.New(resource)}
	c.fifo = fifo.New(c.Indexer, fifo.Config{Transform: cut, Trace: seen.FIFO})
	cfg.Trace = seen.Source
	c.source = reflector.New(client, resource, c.fifo, cfg)
	seen.Watch(c.source, c.fifo, c.Indexer)
	return c
}

// run starts both ends of the chain, and the packer.
func (c cache) run(ctx context.Context, parts *errgroup.Group, pack func(context.Context, *indexer.Indexer, func(*wire.Object) bool) error) {
	parts.Go(func() error { return c.source.Run(ctx) })
	parts.Go(func() error { return c.Run(ctx, c.fifo) })
	parts.Go(func() error { return pack(ctx, c.Indexer, nil) })
}

// needed is the cache as a pool waits for it.
func (c cache) needed() reconcile.Source {
	return reconcile.Source{Name: c.Name(), Synced: c.Synced(), LastError: c.source.LastError}
}
