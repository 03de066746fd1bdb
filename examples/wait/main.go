// Wait is a controller of custom tasks, on the stages of Millrace: a task of a
// pipeline that waits for some time, and needs no pod for that.
//
//	PipelineRun ──creates──▶ CustomRun ──reflector─fifo─indexer─handler─queue─pool──▶ next ──status──▶ PipelineRun goes on
//
// Which of them are its own it tells by customRef. What it promises to whoever made
// the run: a condition Succeeded that ends True or False, a start and an end, and that
// it stops when spec.status says RunCancelled. A pipeline to try it with is in
// README.md.
package main

import (
	"context"
	"flag"
	"os/signal"
	"syscall"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/reflector"
	"millrace/workqueue"
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the cluster; the one that this runs in, if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err == nil {
		err = run(ctx, config)
	}
	if err != nil {
		klog.ErrorS(err, "Stopped")
		klog.FlushAndExit(klog.ExitFlushTimeout, 1)
	}
}

// run is the whole program: one chain, one pool.
func run(ctx context.Context, config *rest.Config) error {
	client, err := clientOf(config)
	if err != nil {
		return err
	}
	runs := indexer.New(crds.ResourceCustomRuns)
	waiting := fifo.New(runs, fifo.Config{})
	source := reflector.New(client, crds.ResourceCustomRuns, waiting, reflector.Config{Kind: crds.KindCustomRun})
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: crds.ResourceCustomRuns})
	w := &waiter{runs: runs, gate: reconcile.NewGate(), client: client}
	pool := reconcile.NewPool("wait", queue, w.reconcile, reconcile.PoolConfig{
		Gate:    w.gate,
		Sources: []reconcile.Source{{Name: crds.ResourceCustomRuns, Synced: runs.Synced(), LastError: source.LastError}},
	})
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return source.Run(ctx) })
	parts.Go(func() error { return runs.Run(ctx, waiting, handler.Enqueue(crds.ResourceCustomRuns, queue)) })
	parts.Go(func() error { return pool.Run(ctx) })
	return parts.Wait()
}

// clientOf speaks tekton.dev/v1beta1. The reflector decides itself when to try again.
func clientOf(config *rest.Config) (rest.Interface, error) {
	c := rest.CopyConfig(config)
	c.GroupVersion = &schema.GroupVersion{Group: crds.Group, Version: crds.VersionCustomRuns}
	c.APIPath, c.QPS = "/apis", -1
	c.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return rest.RESTClientFor(c)
}
