package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
	"millrace/workqueue"
)

// A pool with one worker and a key that needs three attempts. The last of them
// stops the pool, as a signal would.
func Example() {
	q := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "foo"})
	ctx, stop := context.WithCancel(context.Background())

	attempt := 0
	reconcileFoo := func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
		attempt++
		fmt.Println("reconcile", key, "because of", reconcile.Causes(ctx))
		switch attempt {
		case 1:
			return reconcile.Result{Requeue: true}, nil
		case 2:
			return reconcile.Result{RequeueAfter: time.Millisecond}, nil
		default:
			stop()
			return reconcile.Result{}, reconcile.Terminal(nil)
		}
	}
	synced := make(chan struct{})
	pool := reconcile.NewPool("foo", q, reconcileFoo, reconcile.PoolConfig{
		Workers: 1,
		Sources: []reconcile.Source{{Name: "foos", Synced: synced}},
		Trace: reconcile.Trace{OnReconcile: func(r reconcile.Reconciled) {
			fmt.Println("         ", r.Outcome)
		}},
	})

	q.AddLow(types.NamespacedName{Namespace: "ci", Name: "bar"}, workqueue.Cause{Source: "foos", Event: "initial"})
	close(synced) // as an indexer does when its first list is in
	fmt.Println("stopped:", pool.Run(ctx))
	// Output:
	// reconcile ci/bar because of [foos initial]
	//           requeue
	// reconcile ci/bar because of [foo requeue]
	//           requeue_after
	// reconcile ci/bar because of [foo requeue-after]
	//           success
	// stopped: <nil>
}

// What a spec has wrong does not get better by trying again.
func ExampleTerminal() {
	err := fmt.Errorf("read spec of ci/bar: %w", reconcile.Terminal(errors.New("replicas is negative")))
	fmt.Println(err)
	fmt.Println(reconcile.IsTerminal(err))
	// Output:
	// read spec of ci/bar: replicas is negative
	// true
}
