// Foo is the controller of the textbook, on the stages of Millrace: a Foo owns a
// Deployment and a Service, and says in its status whether they work. make demo-foo
// runs it.
//
//	foos ──────── GenerationChanged ───────────┐
//	deployments ─ spec, or how many there are ─┼─▶ queue of Foos ──▶ reconcile ──▶ Deployment, Service, status
//	services ──── Dependent ───────────────────┘
//
// Each part stands beside what a lesson on controllers has to say about it. The informer
// pipeline is in this file; what a Foo is and the reconcile loop are in foo.go.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/predicate"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/transform"
	"millrace/wire"
	"millrace/workqueue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")) // empty: the cluster that this runs in
	if err == nil {
		err = run(ctx, config)
	}
	if err != nil {
		klog.Exit("foo: ", err)
	}
}

// resource is one that the controller follows. Lesson: all that a reconcile reads, it
// reads from the cache, and only what it writes goes to the server.
type resource struct {
	client rest.Interface
	name   string
	cache  *indexer.Indexer
	owners *indexer.Index[types.UID] // lesson: an index finds what a key does not; by all owners, since the first may be another's
}

// run is the whole controller.
func run(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the reflector decides itself when to ask again
	builtIn, builtInErr := kubernetes.NewForConfig(config)
	config.APIPath, config.GroupVersion, config.NegotiatedSerializer = "/apis", new(fooVersion()), scheme.Codecs.WithoutConversion()
	custom, customErr := rest.RESTClientFor(config)
	if err := errors.Join(builtInErr, customErr); err != nil {
		return err
	}
	// Lesson: a key goes into the queue and not an object, which is old when its turn
	// comes; a key that is asked for ten times runs once; one that fails waits for 5 ms,
	// then for twice as long each time, to 1000 s.
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "foos"})
	parts, ctx := errgroup.WithContext(ctx)
	var sources []reconcile.Source
	// Lesson: the reflector lists, watches, and lists again after a 410; the FIFO keeps
	// one entry for what waits of an object; the indexer takes it in and tells the handler.
	follow := func(client rest.Interface, name string, asked reflector.Config, handle func(indexer.Change)) resource {
		cache := indexer.New(name)
		owners := indexer.AddIndex(cache, "owner", indexer.OwnerUID)
		waiting := fifo.New(cache, fifo.Config{Transform: transform.Default()})
		source := reflector.New(client, name, waiting, asked)
		sources = append(sources, reconcile.Source{Name: name, Synced: cache.Synced(), LastError: source.LastError})
		parts.Go(func() error { return source.Run(ctx) })
		parts.Go(func() error { return cache.Run(ctx, waiting, handle) })
		return resource{client, name, cache, owners}
	}

	// A Foo wakes itself when its spec has changed: its status it writes itself. Lesson:
	// a resync shows every Foo again each 30 s. It repairs no event that was missed.
	changed := predicate.Or(predicate.GenerationChanged, predicate.NoGeneration)
	foos := follow(custom, "foos", reflector.Config{Kind: "Foo", ResyncPeriod: 30 * time.Second},
		handler.When(changed, handler.Enqueue("foos", queue)))
	// Lesson: what it owns wakes it, too. A Service has no news in its status. A Deployment
	// has: how many of it are available. That is read from its bytes, as they come in.
	observed, available := wire.NewFacet("status.observedGeneration"), wire.NewFacet("status.availableReplicas")
	deployments := follow(builtIn.AppsV1().RESTClient(), "deployments", reflector.Config{Kind: "Deployment", Facets: []wire.Facet{observed, available}},
		handler.When(predicate.Or(changed, differIn(observed, available)), handler.EnqueueOwner("deployments", fooKind().GroupKind(), queue)))
	services := follow(builtIn.CoreV1().RESTClient(), "services", reflector.Config{Kind: "Service"},
		handler.When(predicate.Dependent, handler.EnqueueOwner("services", fooKind().GroupKind(), queue)))

	// Lesson: always wait for the caches. To a worker that does not, an empty one looks
	// like a cluster in which everything has to be made. That is what sources are for.
	r := &reconciler{foos: foos, deployments: deployments, services: services, gate: reconcile.NewGate()}
	pool := reconcile.NewPool("foo", queue, r.reconcile, reconcile.PoolConfig{Workers: 4, Gate: r.gate, Sources: sources})
	parts.Go(func() error { return pool.Run(ctx) })
	return parts.Wait()
}

// differIn passes updates in which one of the facets has another value.
func differIn(facets ...wire.Facet) predicate.Func {
	return func(c indexer.Change) bool {
		return c.Old == nil || c.New == nil || slices.ContainsFunc(facets, func(f wire.Facet) bool {
			was, _ := c.Old.Facet(f)
			is, _ := c.New.Facet(f)
			return was != is
		})
	}
}
