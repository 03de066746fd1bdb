// Pods is the whole chain for one resource, wired by hand: it prints what the cluster's
// pods go through, against any cluster.
//
//	KUBECONFIG=~/.kube/config go run ./examples/pods
//
//	API server ──LIST/WATCH──▶ reflector ──▶ fifo ──▶ indexer ──▶ handler ──▶ workqueue ──▶ pool
//	                             "watch"               "event"     "key"       "queue"      "reconcile"
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/transform"
	"millrace/wire"
	"millrace/workqueue"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG")) // empty: the cluster that this runs in
	if err == nil {
		err = run(ctx, config, os.Stdout)
	}
	if err != nil {
		klog.Exit("pods: ", err)
	}
}

func run(ctx context.Context, config *rest.Config, out io.Writer) error {
	config.QPS = -1 // the reflector decides itself when to ask again
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }

	// Each stage knows the next one by what it needs of it. None runs yet.
	pods := indexer.New("pods")
	waiting := fifo.New(pods, fifo.Config{Transform: transform.Default()})
	source := reflector.New(client.CoreV1().RESTClient(), "pods", waiting, reflector.Config{
		Kind: "Pod", Format: wire.Protobuf,
		Trace: reflector.Trace{Moved: func(from, to reflector.State) { say("watch      %s → %s", from, to) }},
	})
	event := func(c indexer.Change) { say("event      %s %s, %d bytes", c.Type, c.Key, c.Object().Size()) }
	asked := func(key types.NamespacedName, a workqueue.Asked) {
		say("key        %s because of %s", key, a.Cause)
		say("queue      %s: %s → %s", key, a.From, a.To)
	}
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "pods", Trace: workqueue.Trace[types.NamespacedName]{OnAsk: asked}})
	look := func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
		pod, there, err := indexer.Read[corev1.Pod](pods).Get(key) // decoded now, from the bytes that the server sent
		if there {
			say("reconcile  %s is %s %v", key, pod.Status.Phase, reconcile.Causes(ctx))
		} else {
			say("reconcile  %s is gone %v", key, reconcile.Causes(ctx))
		}
		return reconcile.Result{}, err
	}
	pool := reconcile.NewPool("pods", queue, look, reconcile.PoolConfig{
		Sources: []reconcile.Source{{Name: "pods", Synced: pods.Synced(), LastError: source.LastError}},
	})

	// Now they do. Whoever starts a goroutine waits for it.
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return source.Run(ctx) })
	parts.Go(func() error { return pods.Run(ctx, waiting, event, handler.Enqueue("pods", queue)) })
	parts.Go(func() error { return pool.Run(ctx) })
	return parts.Wait()
}
