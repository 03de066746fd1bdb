package inspect_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/inspect"
	"millrace/reconcile"
	"millrace/workqueue"
)

// Whoever makes a queue and a pool hands them the hooks, and can ask afterwards.
func Example() {
	inspector := inspect.New("v1", func() bool { return true })
	shown := inspector.Controller("foo", "foos")
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Trace: shown.Queue(workqueue.Trace[types.NamespacedName]{})})
	done := make(chan struct{})
	pool := reconcile.NewPool("foo", queue, func(context.Context, types.NamespacedName) (reconcile.Result, error) {
		defer close(done)
		return reconcile.Result{}, reconcile.Terminal(errors.New("spec.replicas is negative"))
	}, reconcile.PoolConfig{Trace: shown.Pool(reconcile.Trace{})})
	shown.Attach(queue, pool)

	key := types.NamespacedName{Namespace: "ci", Name: "a"}
	queue.Add(key, workqueue.Cause{Source: "foos", Event: "update", OldRV: "7", NewRV: "9"})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- pool.Run(ctx) }()
	<-done
	stop()
	if err := <-ended; err != nil {
		fmt.Println(err)
	}

	report, known := inspector.Explain(shown, key)
	fmt.Println(known, report.Runs, report.Because[0])
	for _, e := range report.Events {
		fmt.Printf("%s: %s%s\n", e.Stage, e.To, e.Outcome)
	}
	// Output:
	// true 1 foos update 7→9
	// queue: ready
	// worker: terminal_error
}
