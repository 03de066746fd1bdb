package workqueue_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/workqueue"
)

// Three events, of which two come before any worker is there and one while the
// key is being processed, are two runs; a failure is a third.
func Example() {
	q := workqueue.New(workqueue.Config[types.NamespacedName]{
		Name:      "taskrun",
		Namespace: func(k types.NamespacedName) string { return k.Namespace },
	})
	build := types.NamespacedName{Namespace: "ci", Name: "build"}
	podNews := func(old, now string) workqueue.Cause {
		return workqueue.Cause{Source: "pods", Event: "update", Name: "build-pod", OldRV: old, NewRV: now}
	}

	q.Add(build, workqueue.Cause{Source: "taskruns", Event: "create", NewRV: "5"})
	q.Add(build, podNews("6", "7"))

	for run := 1; run <= 3; run++ {
		key, causes, err := q.Get(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("run", run, "of", key, "because of", causes)
		switch run {
		case 1:
			q.Add(build, podNews("7", "9")) // comes while the worker is at it
			q.Forget(key)
		case 2:
			q.AddRateLimited(key, workqueue.Cause{Source: "reconcile", Event: "retry"})
		case 3:
			q.Forget(key)
		}
		q.Done(key)
		fmt.Println("         then", q.Explain(key).State)
	}

	q.ShutDown()
	_, _, err := q.Get(context.Background())
	fmt.Println(errors.Is(err, workqueue.ErrShutDown))
	// Output:
	// run 1 of ci/build because of [taskruns create →5 pods update build-pod 6→7]
	//          then ready
	// run 2 of ci/build because of [pods update build-pod 7→9]
	//          then backing off
	// run 3 of ci/build because of [reconcile retry]
	//          then idle
	// true
}

// What comes for a key while a worker has it waits for that worker, and is one
// more run, however much it was. No two workers ever have the same key.
func Example_addWhileProcessing() {
	q := workqueue.New(workqueue.Config[string]{})
	q.Add("ci/build", workqueue.Cause{Source: "taskruns", Event: "create", NewRV: "5"})
	key, causes, _ := q.Get(context.Background())
	fmt.Println("one worker has", key, causes)

	q.Add("ci/build", workqueue.Cause{Source: "pods", Event: "update", OldRV: "6", NewRV: "7"})
	q.Add("ci/build", workqueue.Cause{Source: "pods", Event: "update", OldRV: "7", NewRV: "9"})
	fmt.Printf("two events later it is %v, and ready for others are %d\n", q.Explain(key).State, q.Len())

	q.Done(key)
	key, causes, _ = q.Get(context.Background())
	fmt.Println("then somebody has", key, causes)
	q.Done(key)
	fmt.Println("ready:", q.Len())
	// Output:
	// one worker has ci/build [taskruns create →5]
	// two events later it is processing and dirty, and ready for others are 0
	// then somebody has ci/build [pods update 6→9 ×2]
	// ready: 0
}

// A key that fails stays away, longer each time. Ordinary news do not end that,
// or a key that hears of its own failures would spin; urgent news do.
func Example_backoff() {
	q := workqueue.New(workqueue.Config[string]{
		Limiter: workqueue.Exponential(time.Minute, time.Hour),
		Trace: workqueue.Trace[string]{OnRetry: func(key string, failures int, delay time.Duration) {
			fmt.Println(key, "has failed", failures, "times and stays away for", delay)
		}},
	})
	run := func(fails bool) {
		key, causes, _ := q.Get(context.Background())
		fmt.Println("run of", key, "because of", causes)
		if fails {
			q.AddRateLimited(key, workqueue.Cause{Source: "reconcile", Event: "retry"})
		} else {
			q.Forget(key)
		}
		q.Done(key)
	}

	q.Add("ci/build", workqueue.Cause{Source: "taskruns", Event: "create"})
	run(true)
	q.Add("ci/build", workqueue.Cause{Source: "pods", Event: "update"})
	fmt.Println("after an update it is", q.Explain("ci/build").State)
	q.AddUrgent("ci/build", workqueue.Cause{Source: "taskruns", Event: "update"})
	fmt.Println("after another spec it is", q.Explain("ci/build").State)
	run(true)
	q.AddUrgent("ci/build", workqueue.Cause{Source: "taskruns", Event: "update"})
	run(false)
	fmt.Println("failures:", q.NumRequeues("ci/build"))
	// Output:
	// run of ci/build because of [taskruns create]
	// ci/build has failed 1 times and stays away for 1m0s
	// after an update it is backing off
	// after another spec it is ready
	// run of ci/build because of [pods update taskruns update]
	// ci/build has failed 2 times and stays away for 2m0s
	// run of ci/build because of [taskruns update]
	// failures: 0
}

// The server was away, and two keys wait out their backoff. One of them finds
// out that it is back, and the other need not wait.
func ExampleQueue_Release() {
	q := workqueue.New(workqueue.Config[string]{Limiter: workqueue.Exponential(time.Minute, time.Hour)})
	for _, key := range []string{"ci/build", "ci/test", "ci/busy"} {
		q.Add(key, workqueue.Cause{Source: "taskruns", Event: "create"})
		key, _, _ = q.Get(context.Background())
		var retryAfter time.Duration
		if key == "ci/busy" {
			retryAfter = 20 * time.Second // it was told so
		}
		q.AddTroubled(key, retryAfter, time.Minute, workqueue.Cause{Source: "reconcile", Event: "retry"})
		q.Done(key)
	}
	fmt.Println("released:", q.Release(1, 4*time.Millisecond))
	key, causes, _ := q.Get(context.Background())
	fmt.Println(key, causes)
	fmt.Println("released:", q.Release(2, 4*time.Millisecond))
	key, causes, _ = q.Get(context.Background())
	fmt.Println(key, causes)
	fmt.Println("ci/busy is", q.Explain("ci/busy").State)
	// Output:
	// released: 1
	// ci/build [reconcile retry]
	// released: 1
	// ci/test [reconcile retry]
	// ci/busy is backing off
}

// Drain is how a process ends without leaving work half done.
func ExampleQueue_Drain() {
	q := workqueue.New(workqueue.Config[string]{Name: "demo"})
	q.Add("ci/build", workqueue.Cause{Source: "demo", Event: "create"})
	q.AddAfter("ci/check", time.Hour, workqueue.Cause{Source: "demo", Event: "requeue-after"})

	worker := make(chan struct{})
	go func() {
		defer close(worker)
		for {
			key, _, err := q.Get(context.Background())
			if err != nil {
				fmt.Println("worker:", err)
				return
			}
			fmt.Println("worker: ran", key)
			q.Done(key)
		}
	}()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err := q.Drain(ctx)
	<-worker
	fmt.Println("drained:", err == nil)
	// Output:
	// worker: ran ci/build
	// worker: workqueue is shut down
	// drained: true
}
