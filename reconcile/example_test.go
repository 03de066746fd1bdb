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

// A pool that is told to stop while a reconcile is at work, as a signal would:
// no more keys are taken, the reconcile goes on until the drain timeout, then
// its ctx ends, and Run returns when it has returned.
func Example_shuttingDown() {
	q := workqueue.New(workqueue.Config[types.NamespacedName]{
		Name: "foo",
		// What is interrupted has failed. It is dropped as a key that backs off, unless it is
		// ready again by then, as after 5 ms it may be.
		Limiter: workqueue.Exponential(time.Minute, time.Hour),
	})
	signalled, signal := context.WithCancel(context.Background())
	begun := make(chan struct{})
	slow := func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
		fmt.Println("reconcile", key)
		close(begun)
		<-signalled.Done()
		fmt.Println("soft stop: it goes on")
		<-ctx.Done()
		fmt.Println("hard stop:", context.Cause(ctx))
		return reconcile.Result{}, ctx.Err()
	}
	pool := reconcile.NewPool("foo", q, slow, reconcile.PoolConfig{Workers: 1, DrainTimeout: 2 * time.Second})
	stopped := make(chan error)
	go func() { stopped <- pool.Run(signalled) }()

	for _, name := range []string{"slow", "next"} {
		q.Add(types.NamespacedName{Namespace: "ci", Name: name}, workqueue.Cause{Source: "foos", Event: "create"})
	}
	<-begun
	fmt.Println("signal")
	signal()
	fmt.Println("stopped:", <-stopped)
	fmt.Println("left for the next process:", q.Len())
	// Output:
	// reconcile ci/slow
	// signal
	// soft stop: it goes on
	// hard stop: the pool has been told to stop, and its drain timeout is over
	// stopped: pool foo: reconciles in hand were interrupted 2s after the stop
	// left for the next process: 1
}

// A lagging cache knows what the watch has brought it.
type laggingCache struct {
	heard chan string
	at    string
}

func (c *laggingCache) WaitFor(ctx context.Context, resourceVersion string) error {
	fmt.Println("   the gate waits for", resourceVersion)
	select {
	case c.at = <-c.heard:
		fmt.Println("   the cache is at", c.at)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (*laggingCache) Rewinds() int { return 0 }

// A reconcile makes a pod, and is called again before the watch has brought that
// pod to the cache. Were it to run then, it would see none, and make another.
func Example_readYourWrites() {
	q := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "foo"})
	pods, gate := &laggingCache{heard: make(chan string, 1)}, reconcile.NewGate()
	ctx, stop := context.WithCancel(context.Background())

	reconcileFoo := func(_ context.Context, key types.NamespacedName) (reconcile.Result, error) {
		if pods.at == "12" {
			fmt.Println("reconcile", key, "sees its pod")
			stop()
			return reconcile.Result{}, nil
		}
		fmt.Println("reconcile", key, "sees no pod, and makes one")
		gate.Wrote(key, pods, "12")                                        // the resourceVersion of the server's answer
		time.AfterFunc(20*time.Millisecond, func() { pods.heard <- "12" }) // the watch
		return reconcile.Result{RequeueAfter: time.Nanosecond}, nil
	}
	pool := reconcile.NewPool("foo", q, reconcileFoo, reconcile.PoolConfig{Gate: gate})
	q.Add(types.NamespacedName{Namespace: "ci", Name: "bar"}, workqueue.Cause{Source: "foos", Event: "create"})
	fmt.Println("stopped:", pool.Run(ctx))
	// Output:
	// reconcile ci/bar sees no pod, and makes one
	//    the gate waits for 12
	//    the cache is at 12
	// reconcile ci/bar sees its pod
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
