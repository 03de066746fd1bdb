// Foo is the controller of the textbook, on the stages of Millrace: a Foo owns a
// Deployment and a Service, and says in its status whether they work. make demo-foo
// runs it.
//
//	foos ──────── GenerationChanged ───────────┐
//	deployments ─ spec, or how many there are ─┼─▶ queue of Foos ──▶ reconcile ──▶ Deployment, Service, status
//	services ──── Dependent ───────────────────┘
//
// The informer pipeline: this file. The reconcile loop: reconcile.go.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

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
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster; the one that this runs in, if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		err = run(ctx, config)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "foo:", err)
		os.Exit(1)
	}
}

// resource is one that the controller follows: its client, and its cache.
type resource struct {
	client rest.Interface
	name   string
	cache  *indexer.Indexer
	owners *indexer.Index[types.UID] // by all of an object's owners, not by the first
}

// run is the whole controller.
func run(ctx context.Context, config *rest.Config) error {
	// A key and not an object: what is in the queue is old when its turn comes. The
	// limiter is the one of the textbook: from 5 ms, doubling, to 1000 s.
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "foos"})
	parts, ctx := errgroup.WithContext(ctx)
	var sources []reconcile.Source
	follow := func(group schema.GroupVersion, name, kind string, asked reflector.Config, handle func(indexer.Change)) (r resource, err error) {
		if r.client, err = clientOf(config, group); err != nil {
			return r, err
		}
		r.name, r.cache, asked.Kind = name, indexer.New(name), kind
		r.owners = indexer.AddIndex(r.cache, "owner", indexer.OwnerUID)
		waiting := fifo.New(r.cache, fifo.Config{Transform: transform.Default()})
		source := reflector.New(r.client, name, waiting, asked)
		sources = append(sources, reconcile.Source{Name: name, Synced: r.cache.Synced(), LastError: source.LastError})
		parts.Go(func() error { return source.Run(ctx) })
		parts.Go(func() error { return r.cache.Run(ctx, waiting, handle) })
		return r, nil
	}

	// A Foo wakes itself when its spec has changed: its status it writes itself. The
	// resync shows every Foo again each 30 s; that repairs no event that was missed.
	changed := predicate.Or(predicate.GenerationChanged, predicate.NoGeneration)
	foos, err := follow(fooVersion(), "foos", "Foo", reflector.Config{ResyncPeriod: 30 * time.Second},
		handler.When(changed, handler.Enqueue("foos", queue)))
	if err != nil {
		return err
	}
	// What it owns wakes it, too. A Service has no news in its status. A Deployment has:
	// how many of it are available. That is read from its bytes, as they come in.
	available := wire.NewFacet("status.availableReplicas")
	deployments, err := follow(appsv1.SchemeGroupVersion, "deployments", "Deployment", reflector.Config{Facets: []wire.Facet{available}},
		handler.When(predicate.Or(changed, differsIn(available)), handler.EnqueueOwner("deployments", fooKind().GroupKind(), queue)))
	if err != nil {
		return err
	}
	services, err := follow(corev1.SchemeGroupVersion, "services", "Service", reflector.Config{},
		handler.When(predicate.Dependent, handler.EnqueueOwner("services", fooKind().GroupKind(), queue)))
	if err != nil {
		return err
	}

	// No worker begins before all caches are full: an empty one would look like a
	// cluster in which everything has to be made.
	r := &reconciler{foos: foos, deployments: deployments, services: services, gate: reconcile.NewGate()}
	pool := reconcile.NewPool("foo", queue, r.reconcile, reconcile.PoolConfig{Workers: 4, Gate: r.gate, Sources: sources})
	parts.Go(func() error { return pool.Run(ctx) })
	return parts.Wait()
}

// differsIn passes updates in which a facet has another value.
func differsIn(f wire.Facet) predicate.Func {
	return func(c indexer.Change) bool {
		if c.Old == nil || c.New == nil {
			return true
		}
		was, _ := c.Old.Facet(f)
		is, _ := c.New.Facet(f)
		return was != is
	}
}

func clientOf(config *rest.Config, group schema.GroupVersion) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion, c.NegotiatedSerializer = &group, scheme.Codecs.WithoutConversion()
	c.QPS, c.APIPath = -1, "/apis" // the reflector decides itself when to ask again
	if group.Group == "" {
		c.APIPath = "/api"
	}
	return rest.RESTClientFor(c)
}
