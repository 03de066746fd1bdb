// Package peer is client-go's informer for one resource, with its defaults: what
// ours is measured against.
//
// It has what ours has: typed objects, the same fields dropped by a transform, an
// index by namespace, a handler that adds a key to a rate limiting queue, and a
// worker that takes the keys away.
package peer

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1" //nolint:depguard // The peer.
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"    //nolint:depguard // The peer.
	"k8s.io/client-go/util/workqueue" //nolint:depguard // The peer.

	"millrace/bench/server"
)

// Chain is an informer that runs.
type Chain struct {
	Informer cache.SharedIndexInformer

	registration cache.ResourceEventHandlerRegistration
	calls        atomic.Int64
	queue        workqueue.TypedRateLimitingInterface[types.NamespacedName]
	cancel       context.CancelFunc
	parts        sync.WaitGroup

	mu      sync.Mutex
	version string        // of the object that the handler saw last
	wanted  string        // the resourceVersion that reached is about
	reached chan struct{} // closed when the handler has seen it
}

// Start starts an informer of a resource of a server.
func Start(ctx context.Context, url string, r server.Resource) (*Chain, error) {
	informer, err := newInformer(url, r)
	if err != nil {
		return nil, err
	}
	c := &Chain{
		Informer: informer,
		queue:    workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()),
	}
	if err := informer.SetTransform(Transform); err != nil {
		return nil, err
	}
	if c.registration, err = informer.AddEventHandler(c.handler(keyOf(r))); err != nil {
		return nil, err
	}
	ctx, c.cancel = context.WithCancel(ctx)
	c.parts.Go(func() { informer.RunWithContext(ctx) })
	c.parts.Go(c.work)
	return c, nil
}

func newInformer(url string, r server.Resource) (cache.SharedIndexInformer, error) {
	byNamespace := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	if r == server.Pods {
		client, err := Clientset(url)
		if err != nil {
			return nil, err
		}
		ofRuns := func(o *metav1.ListOptions) { o.LabelSelector = "tekton.dev/taskRun" }
		return coreinformers.NewFilteredPodInformer(client, metav1.NamespaceAll, 0, byNamespace, ofRuns), nil
	}
	client, err := RunClient(url)
	if err != nil {
		return nil, err
	}
	lw := cache.NewListWatchFromClient(client, string(r), metav1.NamespaceAll, fields.Everything())
	return cache.NewSharedIndexInformerWithOptions(lw, exampleOf(r), cache.SharedIndexInformerOptions{Indexers: byNamespace}), nil
}

func exampleOf(r server.Resource) runtime.Object {
	if r == server.PipelineRuns {
		return &PipelineRun{}
	}
	return &TaskRun{}
}

// Clientset speaks protobuf.
func Clientset(url string) (*kubernetes.Clientset, error) {
	cfg := &rest.Config{Host: url, QPS: -1}
	cfg.Insecure = strings.HasPrefix(url, "https:") // the certificate is made for an hour
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("client-go's client: %w", err)
	}
	return client, nil
}

// Transform drops what ours cuts.
func Transform(o any) (any, error) {
	meta, ok := o.(metav1.Object)
	if !ok {
		return o, nil // a tombstone
	}
	meta.SetManagedFields(nil)
	delete(meta.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	return o, nil
}

// handler adds keys, and notes how far it has come.
func (c *Chain) handler(key func(metav1.Object) types.NamespacedName) cache.ResourceEventHandler {
	see := func(o any) {
		c.calls.Add(1)
		meta, ok := o.(metav1.Object)
		if !ok {
			return
		}
		c.queue.Add(key(meta))
		c.note(meta.GetResourceVersion())
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    see,
		UpdateFunc: func(_, o any) { see(o) },
		DeleteFunc: see,
	}
}

// keyOf is what is put into the queue for an object: its own key, or its
// owner's.
func keyOf(r server.Resource) func(metav1.Object) types.NamespacedName {
	if r != server.Pods {
		return func(o metav1.Object) types.NamespacedName {
			return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}
		}
	}
	return func(o metav1.Object) types.NamespacedName {
		owner := metav1.GetControllerOfNoCopy(o)
		if owner == nil || owner.Kind != "TaskRun" {
			return types.NamespacedName{}
		}
		return types.NamespacedName{Namespace: o.GetNamespace(), Name: owner.Name}
	}
}

func (c *Chain) note(version string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version = version
	if c.reached != nil && version == c.wanted {
		close(c.reached)
		c.reached = nil
	}
}

// work takes every key, and does nothing with it.
func (c *Chain) work() {
	for {
		key, down := c.queue.Get()
		if down {
			return
		}
		c.queue.Forget(key)
		c.queue.Done(key)
	}
}

// Synced waits until the handler has seen the first list.
func (c *Chain) Synced(ctx context.Context) error {
	select {
	case <-c.registration.HasSyncedChecker().Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("client-go's first list: %w", ctx.Err())
	}
}

// Reached waits until the handler has seen the object with that
// resourceVersion, as events come in its order.
func (c *Chain) Reached(ctx context.Context, version string) error {
	c.mu.Lock()
	if c.version == version {
		c.mu.Unlock()
		return nil
	}
	reached := make(chan struct{})
	c.wanted, c.reached = version, reached
	c.mu.Unlock()
	select {
	case <-reached:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("client-go at %s: %w", version, ctx.Err())
	}
}

// Calls is how often the handler was called.
func (c *Chain) Calls() int64 { return c.calls.Load() }

// Len is how many objects the store has.
func (c *Chain) Len() int { return len(c.Informer.GetStore().ListKeys()) }

// Stop ends the informer and waits for it.
func (c *Chain) Stop() error {
	c.cancel()
	c.queue.ShutDown()
	c.parts.Wait()
	return nil
}
