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
