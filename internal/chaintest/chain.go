package chaintest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/predicate"
	"millrace/reflector"
	"millrace/transform"
	"millrace/wire"
)

// A chain is that of one resource, with its last stage in the story's hands.
type chain struct {
	source   *reflector.Reflector
	fifo     *fifo.FIFO
	store    *indexer.Indexer
	byOwner  *indexer.Index[types.UID]
	byFirst  *indexer.Index[types.UID]
	byLabel  *indexer.Index[string]
	handlers []func(indexer.Change)

	// What it has said that it is: guarded by World.mu.
	state reflector.State
	heard string // the resourceVersion that it has come to

	taken types.NamespacedName // the object of the last event; its reflector's own
}

// sink is a FIFO that says what becomes of each event.
type sink struct {
	*fifo.FIFO

	of *chain
}

func (s sink) Add(o *wire.Object) error    { s.of.taken = o.Key(); return s.FIFO.Add(o) }
func (s sink) Update(o *wire.Object) error { s.of.taken = o.Key(); return s.FIFO.Update(o) }
func (s sink) Delete(o *wire.Object) error { s.of.taken = o.Key(); return s.FIFO.Delete(o) }

// A resource is one that a story can speak of.
type resource struct {
	name, kind string
	version    schema.GroupVersion
}

func resources() []resource {
	return []resource{
		{crds.ResourceTaskRuns, crds.KindTaskRun, schema.GroupVersion{Group: crds.Group, Version: "v1"}},
		{"pods", "Pod", schema.GroupVersion{Version: "v1"}},
	}
}

// byKind finds a resource by its plural name or by its kind.
func byKind(name string) (resource, error) {
	var known []string
	for _, r := range resources() {
		if strings.EqualFold(name, r.kind) || name == r.name {
			return r, nil
		}
		known = append(known, strings.ToLower(r.kind))
	}
	return resource{}, fmt.Errorf("no resource %q: want one of %s", name, strings.Join(known, ", "))
}

// client talks to the model server about one group.
func (w *World) client(of schema.GroupVersion) (rest.Interface, error) {
	path := "/apis"
	if of.Group == "" {
		path = "/api"
	}
	return rest.RESTClientFor(&rest.Config{
		Host: "http://apiserver", Transport: w.http, APIPath: path, QPS: -1,
		ContentConfig: rest.ContentConfig{GroupVersion: &of, NegotiatedSerializer: serializer.WithoutConversionCodecFactory{CodecFactory: scheme.Codecs}},
	})
}

// predicates are those that a story can put between a cache and the queue.
func predicates() map[string]predicate.Func {
	return map[string]predicate.Func{
		"":                   func(indexer.Change) bool { return true },
		"generation-changed": predicate.GenerationChanged,
		"dependent":          predicate.Dependent,
	}
}

// start starts the chain of a resource. TaskRuns wake themselves, pods the TaskRuns
// that own them, if the predicate lets them.
func (w *World) start(ctx context.Context, r resource, selector, via string, resync time.Duration) error {
	client, err := w.client(r.version)
	if err != nil {
		return fmt.Errorf("client of %s: %w", r.name, err)
	}
	c, looks := &chain{store: indexer.New(r.name)}, w.shown.Resource(r.name)
	c.byOwner = indexer.AddIndex(c.store, "owner", indexer.OwnerUID)
	c.byFirst = indexer.AddIndex(c.store, "first-owner", firstOwner)
	c.byLabel = indexer.AddIndex(c.store, "label", indexer.Label("app"))
	c.fifo = fifo.New(c.store, fifo.Config{Transform: transform.Default()})
	c.source = reflector.New(client, r.name, sink{c.fifo, c}, reflector.Config{
		Kind: r.kind, LabelSelector: selector, ResyncPeriod: resync, Rand: rand.NewPCG(1, 2), Trace: looks.Source(w.tracing(r.name, c)),
	})
	looks.Attach(c.source, c.fifo, c.store)
	if err := w.handle(r, c, via); err != nil {
		return err
	}
	w.chains[r.name] = c
	w.names = append(w.names, r.name)
	w.parts.Go(func() error { return c.source.Run(ctx) })
	return nil
}

// handle puts a predicate before the handler of a chain: via is its name, or nothing.
func (w *World) handle(r resource, c *chain, via string) error {
	lets, known := predicates()[via]
	if !known {
		return fmt.Errorf("no predicate %q: want generation-changed, dependent or none", via)
	}
	enqueue := handler.Enqueue(r.name, asker{w})
	if r.kind != crds.KindTaskRun {
		enqueue = handler.EnqueueOwner(r.name, schema.GroupKind{Group: crds.Group, Kind: crds.KindTaskRun}, asker{w})
	}
	c.handlers = []func(indexer.Change){handler.WhenElse(lets, enqueue, func(indexer.Change) {
		w.sayf("predicate", "%s drops it", via)
	})}
	return nil
}

// firstOwner is the index that many controllers have begun with.
func firstOwner(o *wire.Object, add func(types.UID)) {
	for _, owner := range o.Owners() {
		add(owner.UID)
		return
	}
}

// tracing has the reflector say what it does.
func (w *World) tracing(name string, c *chain) reflector.Trace {
	return reflector.Trace{
		Moved: func(from, to reflector.State) {
			w.sayOf("reflector", name, "%s → %s", from, to)
			w.note(c, to)
		},
		Listed: func(l reflector.List) {
			w.sayOf("reflector", name, "listed %d, because: %s", l.Items, l.Cause)
			w.sayWaiting(name, c, func(key types.NamespacedName) bool { return key.Name != "" })
		},
		Event: func(t wire.EventType) {
			if t != wire.Bookmark {
				w.sayOf("reflector", name, "%s", t)
				w.sayWaiting(name, c, func(key types.NamespacedName) bool { return key == c.taken })
			}
			w.note(c, reflector.Watching)
		},
		Failed: func(f reflector.Failure) {
			w.sayOf("reflector", name, "failed: %v; again in %s", f.Err, f.Wait.Round(time.Millisecond))
		},
		Refused:     func(r reflector.Refusal) { w.sayOf("reflector", name, "refused %s: %v", r.Key, r.Err) },
		Quarantined: func(r reflector.Refusal) { w.sayOf("reflector", name, "quarantined %s", r.Key) },
		Released:    func(q reflector.Quarantined) { w.sayOf("reflector", name, "released %s", q.Key) },
		Resynced:    func() { w.sayOf("reflector", name, "resync") },
	}
}

// sayWaiting has the FIFO say what it holds of some keys.
func (w *World) sayWaiting(name string, c *chain, of func(types.NamespacedName) bool) {
	for _, e := range c.fifo.Waiting(1000) {
		if of(e.Key) {
			w.sayOf("fifo", name, "%s", w.entry(e))
		}
	}
}

// note keeps what a reflector has said it is, after it has said it.
func (w *World) note(c *chain, state reflector.State) {
	heard := c.source.Status().ResourceVersion
	w.mu.Lock()
	defer w.mu.Unlock()
	c.state, c.heard = state, heard
}

// CaughtUp reports whether every reflector has said all that it has to say about what
// has happened on the server so far: for who plays a story in real time, where
// synctest.Wait is not to be had.
func (w *World) CaughtUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, c := range w.chains {
		order, err := wire.CompareResourceVersions(c.heard, w.newest[name])
		switch {
		case w.away && c.state != reflector.BackingOff:
			return false
		case !w.away && (c.state != reflector.Watching || err == nil && order < 0):
			return false
		}
	}
	return true
}

// step takes one entry out of the FIFO, as the indexer's Run does.
func (w *World) step(ctx context.Context, name string, c *chain) error {
	return c.fifo.Pop(ctx, func(e fifo.Entry) error {
		for _, change := range c.store.Apply(e) {
			w.sayf("indexer", "%s %s", name, w.change(change))
			for _, handle := range c.handlers {
				handle(change)
			}
		}
		return nil
	})
}
