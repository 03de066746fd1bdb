// Package ours is a chain of Millrace's for one resource, wired as main.go of
// the product wires it, and a worker that takes the keys away.
package ours

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"millrace/bench/server"
	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/reflector"
	"millrace/transform"
	"millrace/wire"
	"millrace/workqueue"
)

// Chain is a chain that runs.
type Chain struct {
	Objects *indexer.Indexer

	source *reflector.Reflector
	calls  atomic.Int64
	queue  *workqueue.Queue[types.NamespacedName]
	cancel context.CancelFunc
	parts  *errgroup.Group
}

// Start starts a chain that follows a resource of a server.
func Start(ctx context.Context, url string, r server.Resource) (*Chain, error) {
	client, err := Client(url, r)
	if err != nil {
		return nil, err
	}
	c := &Chain{
		Objects: indexer.New(string(r)),
		queue:   workqueue.New(workqueue.Config[types.NamespacedName]{Name: "taskrun", Namespace: namespaceOf}),
	}
	f := fifo.New(c.Objects, fifo.Config{Transform: transform.Default()})
	cfg := sourceConfig(r)
	cfg.Room = f.Room
	c.source = reflector.New(client, string(r), f, cfg)
	handle := Handler(r, c.queue)

	ctx, c.cancel = context.WithCancel(ctx)
	c.parts, ctx = errgroup.WithContext(ctx)
	c.parts.Go(func() error { return c.source.Run(ctx) })
	c.parts.Go(func() error {
		return c.Objects.Run(ctx, f, func(change indexer.Change) {
			c.calls.Add(1)
			handle(change)
		})
	})
	c.parts.Go(func() error { return c.work(ctx) })
	return c, nil
}

// Handler is what main.go gives to the resource's indexer.
func Handler(r server.Resource, q *workqueue.Queue[types.NamespacedName]) func(indexer.Change) {
	if r != server.Pods {
		return handler.Enqueue(string(r), q)
	}
	gone := func(c indexer.Change) bool { return c.Type == indexer.Deleted }
	return handler.EnqueueOwner(string(r), schema.GroupKind{Group: crds.Group, Kind: crds.KindTaskRun}, q, gone)
}

func sourceConfig(r server.Resource) reflector.Config {
	if r != server.Pods {
		return reflector.Config{}
	}
	return reflector.Config{Format: wire.Protobuf, LabelSelector: "tekton.dev/taskRun"}
}

// Client is a client of the resource's group, as main.go makes it.
func Client(url string, r server.Resource) (rest.Interface, error) {
	cfg := &rest.Config{Host: url, QPS: -1, APIPath: "/apis"}
	cfg.Insecure = strings.HasPrefix(url, "https:") // the certificate is made for an hour
	cfg.GroupVersion = &schema.GroupVersion{Group: crds.Group, Version: crds.Version}
	if r == server.Pods {
		cfg.APIPath, cfg.GroupVersion = "/api", &schema.GroupVersion{Version: "v1"}
	}
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	client, err := rest.RESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("our client: %w", err)
	}
	return client, nil
}

func namespaceOf(k types.NamespacedName) string { return k.Namespace }

// work takes every key, and does nothing with it.
func (c *Chain) work(ctx context.Context) error {
	for {
		key, _, err := c.queue.Get(ctx)
		if err != nil {
			return nil //nolint:nilerr // The end of ctx is how this ends.
		}
		c.queue.Forget(key)
		c.queue.Done(key)
	}
}

// Synced waits until the first list is in the store and its keys are in the
// queue.
func (c *Chain) Synced(ctx context.Context) error {
	select {
	case <-c.Objects.Synced():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("our first list: %w", ctx.Err())
	}
}

// Reached waits until the store has all that the server said up to a
// resourceVersion.
func (c *Chain) Reached(ctx context.Context, version string) error {
	return c.Objects.WaitFor(ctx, version)
}

// Calls is how often the handler was called.
func (c *Chain) Calls() int64 { return c.calls.Load() }

// Len is how many objects the store has.
func (c *Chain) Len() int { return c.Objects.Stats().Objects }

// Stop ends the chain and waits for it.
func (c *Chain) Stop() error {
	c.cancel()
	return c.parts.Wait()
}
