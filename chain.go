package main

import (
	"context"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/internal/inspect"
	"millrace/internal/metrics"
	"millrace/internal/tracing"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/shard"
	"millrace/transform"
	"millrace/wire"
	"millrace/workqueue"
)

// A chain is that of one resource, with every stage up to the indexer; what is
// behind it are its handlers. Without any, as for Tasks, it is a
// cache: it is looked at when a run refers to one, and wakes nobody.
type chain struct {
	*indexer.Indexer

	fifo     *fifo.FIFO
	source   *reflector.Reflector
	handlers []func(indexer.Change)
	live     func(*wire.Object) bool // somebody is at work for it, or for its owner: it is not packed. Nil: nobody ever is
}

// newChain wires the stages, as followTaskRuns does it in sight. It takes in what is of
// a range of the namespaces; its zero value is all.
func newChain(client rest.Interface, resource string, of shard.Range, cut transform.Func, seen metrics.Chain, cfg reflector.Config, handlers ...func(indexer.Change)) chain {
	c := chain{Indexer: indexer.New(resource), handlers: handlers}
	c.fifo = fifo.New(c.Indexer, fifo.Config{Transform: cut, Trace: seen.FIFO})
	cfg.Trace, cfg.Room = seen.Source, c.fifo.Room
	c.source = reflector.New(client, resource, shard.Over(c.fifo, of, seen.Foreign), cfg)
	seen.Watch(c.source, c.fifo, c.Indexer)
	return c
}

// observe is what hears of the chain of a resource: metrics, whoever asks at /debug,
// and tracing.
func observe(registry *metrics.Registry, shown *inspect.Inspector, traces *tracing.Tracer, resource string) metrics.Chain {
	seen, show := registry.Chain(resource), shown.Resource(resource)
	watch := seen.Watch
	seen.Source = traces.Resource(resource).Source(show.Source(seen.Source))
	seen.Watch = func(source *reflector.Reflector, f *fifo.FIFO, store *indexer.Indexer) {
		watch(source, f, store)
		show.Attach(source, f, store)
	}
	return seen
}

// run starts both ends of the chain; also are handlers behind its own.
func (c chain) run(ctx context.Context, parts *errgroup.Group, also ...func(indexer.Change)) {
	handlers := slices.Concat(c.handlers, also)
	parts.Go(func() error { return c.source.Run(ctx) })
	parts.Go(func() error { return c.Run(ctx, c.fifo, handlers...) })
}

// needed is the cache as a pool waits for it.
func (c chain) needed() reconcile.Source {
	return reconcile.Source{Name: c.Name(), Synced: c.Synced(), LastError: c.source.LastError}
}

type (
	queue      = workqueue.Queue[types.NamespacedName]
	queueTrace = workqueue.Trace[types.NamespacedName]
)

// newQueue makes a queue, fair between namespaces. What hears of it besides the
// metrics adds its hooks.
func newQueue(registry *metrics.Registry, name string, hear ...func(queueTrace) queueTrace) *queue {
	trace, watch := metrics.Queue[types.NamespacedName](registry, name)
	for _, add := range hear {
		trace = add(trace)
	}
	namespaceOf := func(k types.NamespacedName) string { return k.Namespace }
	q := workqueue.New(workqueue.Config[types.NamespacedName]{Name: name, Namespace: namespaceOf, Trace: trace})
	watch(q)
	return q
}

// runPacked is run, and packs what nobody reads and nobody is at work for.
func (c chain) runPacked(ctx context.Context, parts *errgroup.Group, after time.Duration) {
	if after == 0 {
		c.run(ctx, parts)
		return
	}
	returned := indexer.PackTrace{Swept: giveBack()}
	packer := indexer.NewPacker(c.Indexer, indexer.PackConfig{After: after, Live: c.live, Trace: returned})
	c.run(ctx, parts, packer.Handle)
	parts.Go(func() error { return packer.Run(ctx) })
}

// giveBack returns the memory to the system that packing has freed, after each sweep
// until which it was much. Left to itself the runtime keeps for long what it once had in
// use: after a start with fifty thousand runs, more than they take then.
func giveBack() func(indexer.Sweep) {
	const much = 32 << 20
	freed := int64(0)
	return func(s indexer.Sweep) {
		if freed += s.Freed; freed > much {
			debug.FreeOSMemory()
			freed = 0
		}
	}
}
