package indexer_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/wire"
)

// podJSON is a pod of a run, as a watch would bring it.
func podJSON(name, owner, version, phase string) *wire.Object {
	o, _ := wire.Scan(wire.JSON, fmt.Appendf(nil,
		`{"metadata":{"name":%q,"namespace":"ci","uid":%q,"resourceVersion":%q,"ownerReferences":[{"kind":"TaskRun","name":"run","uid":%q}]},"status":{"phase":%q}}`,
		name, "uid of "+name, version, owner, phase))
	return o
}

// One resource from the FIFO to its readers: a store, an index, a handler.
func Example() {
	pods := indexer.New("pods")
	podsOf := indexer.AddIndex(pods, "owner", indexer.OwnerUID)
	queue := fifo.New(pods, fifo.Config{})

	onPod := func(c indexer.Change) { fmt.Println(c.Type, c.Key.Name) } // a real one enqueues the key

	queue.Begin()
	for _, o := range []*wire.Object{podJSON("a", "r1", "3", "Pending"), podJSON("b", "r2", "4", "Running"), podJSON("c", "r1", "5", "Running")} {
		if err := queue.Item(o); err != nil {
			fmt.Println(err)
		}
	}
	queue.Commit("6")
	if err := queue.Update(podJSON("a", "r1", "7", "Running")); err != nil {
		fmt.Println(err)
	}
	queue.Close() // so that Run ends here; in a program its context does that

	if err := pods.Run(context.Background(), queue, onPod); err != nil {
		fmt.Println(err)
	}
	list, err := indexer.ReadIndex[corev1.Pod](podsOf, types.UID("r1"))
	for _, pod := range list {
		fmt.Println(pod.Name, "of r1 is", pod.Status.Phase)
	}
	fmt.Println(err, pods.Stats().Objects, "objects,", pods.Stats().Decodes, "decoded")
	// Output:
	// create a
	// update a
	// create b
	// create c
	// a of r1 is Running
	// c of r1 is Running
	// <nil> 3 objects, 2 decoded
}

// Read-your-own-writes: the answer to a write names a resourceVersion. Until
// the store has come that far, it may show the object as it was before.
func ExampleIndexer_WaitFor() {
	pods := indexer.New("pods")
	queue := fifo.New(pods, fifo.Config{})
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	ended := make(chan error)
	go func() { ended <- pods.Run(ctx, queue) }()

	queue.Begin()
	queue.Commit("10")

	written := "12" // what the server has answered
	go func() { _ = queue.Add(podJSON("a", "r1", written, "Pending")) }()

	if err := pods.WaitFor(ctx, written); err != nil {
		fmt.Println(err)
		return
	}
	_, ok, err := indexer.Read[corev1.Pod](pods).Get(types.NamespacedName{Namespace: "ci", Name: "a"})
	fmt.Println("the cache has it:", ok, err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// the cache has it: true <nil>
	// <nil>
}
