package peer

import (
	"context"
	"encoding/binary"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"    //nolint:depguard // The peer.
	"k8s.io/client-go/util/workqueue" //nolint:depguard // The peer.

	"millrace/bench/server"
)

// Allocations is what an informer allocates for events that are decoded already,
// up to the queue and out of it. The streams are frames of a protobuf watch;
// mallocs tells the number of allocations so far.
func Allocations(ctx context.Context, initial, events []byte, mallocs func() uint64) (uint64, error) {
	first, err := decode(initial)
	if err != nil {
		return 0, err
	}
	rest, err := decode(events)
	if err != nil {
		return 0, err
	}
	stream := watch.NewFake()
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	lw := &cache.ListWatch{
		ListWithContextFunc:  func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) { return stream, nil },
	}
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(lw, noWatchList{}), &corev1.Pod{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	if err := informer.SetTransform(Transform); err != nil {
		return 0, err
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]())
	defer q.ShutDown()
	handled, key := make(chan struct{}, 1), keyOf(server.Pods)
	see := func(o any) {
		pod, _ := o.(*corev1.Pod)
		q.Add(key(pod))
		handled <- struct{}{}
	}
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }}); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	take := func(pods []*corev1.Pod) {
		for _, pod := range pods {
			stream.Modify(pod)
			<-handled
			key, _ := q.Get()
			q.Forget(key)
			q.Done(key)
		}
	}
	take(first)
	from := mallocs()
	take(rest)
	n := mallocs() - from
	cancel()
	<-done
	return n, nil
}

// noWatchList is a client that has no watch-list.
type noWatchList struct{}

// IsWatchListSemanticsUnSupported is how client-go asks.
func (noWatchList) IsWatchListSemanticsUnSupported() bool { return true }

// decode decodes the objects of a protobuf watch.
func decode(stream []byte) ([]*corev1.Pod, error) {
	decoder := scheme.Codecs.UniversalDeserializer()
	var pods []*corev1.Pod
	for len(stream) > 0 {
		n := 4 + binary.BigEndian.Uint32(stream)
		var event metav1.WatchEvent
		if err := event.Unmarshal(stream[4:n]); err != nil {
			return nil, fmt.Errorf("decode an event: %w", err)
		}
		pod := &corev1.Pod{}
		if _, _, err := decoder.Decode(event.Object.Raw, nil, pod); err != nil {
			return nil, fmt.Errorf("decode a pod: %w", err)
		}
		if event.Type != string(watch.Bookmark) {
			pods = append(pods, pod)
		}
		stream = stream[n:]
	}
	return pods, nil
}
