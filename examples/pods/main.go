// Pods is the whole chain for one resource, wired by hand: it prints what the cluster's
// pods go through, against any cluster.
//
//	go run ./examples/pods -kubeconfig ~/.kube/config
//
//	API server ──LIST/WATCH──▶ reflector ──▶ fifo ──▶ indexer ──▶ handler ──▶ workqueue ──▶ pool
//	                             "watch"               "event"                  "key"       "reconcile"
package main

import (
	"context"
	"flag"
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
	kubeconfig := flag.String("kubeconfig", os.Getenv("KUBECONFIG"), "the cluster; the one that this runs in, if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		config.QPS = -1 // the reflector decides itself when to ask again
		err = run(ctx, config, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "pods:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, config *rest.Config, out io.Writer) error {
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
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "pods", Trace: workqueue.Trace[types.NamespacedName]{
		OnReady: func(key types.NamespacedName) { say("key        %s", key) },
	}})
	printed := func(c indexer.Change) {
		say("event      %s %s, %d bytes", c.Type, c.Key, c.Object().Size())
	}
	pod := indexer.Read[corev1.Pod](pods)
	look := func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
		p, there, err := pod.Get(key) // decoded now, from the bytes that the server sent
		switch {
		case err != nil:
			return reconcile.Result{}, err
		case !there:
			say("reconcile  %s is gone (%v)", key, reconcile.Causes(ctx))
		default:
			say("reconcile  %s is %s (%v)", key, p.Status.Phase, reconcile.Causes(ctx))
		}
		return reconcile.Result{}, nil
	}
	pool := reconcile.NewPool("pods", queue, look, reconcile.PoolConfig{
		Sources: []reconcile.Source{{Name: "pods", Synced: pods.Synced(), LastError: source.LastError}},
	})

	// Now they do. Whoever starts a goroutine waits for it.
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return source.Run(ctx) })
	parts.Go(func() error { return pods.Run(ctx, waiting, printed, handler.Enqueue("pods", queue)) })
	parts.Go(func() error { return pool.Run(ctx) })
	return parts.Wait()
}
