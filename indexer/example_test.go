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

// An index is a value of its own, made beside the store, and asked by what it
// was made from: here a facet, which the scan has noted, so that nothing is
// decoded to keep the index.
func ExampleAddIndex() {
	phase := wire.NewFacet("status.phase")
	scanner := wire.NewScanner(phase)

	pods := indexer.New("pods")
	byPhase := indexer.AddIndex(pods, "phase", func(o *wire.Object, add func(string)) {
		if value, known := o.Facet(phase); known {
			add(value)
		}
	})
	for i, name := range []string{"b", "c", "a"} {
		o, err := scanner.Scan(wire.JSON, podJSON(name, "r1", fmt.Sprint(i+1), []string{"Running", "Failed"}[i%2]).Bytes())
		if err != nil {
			fmt.Println(err)
		}
		pods.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}})
	}
	fmt.Println("Running:", byPhase.Keys("Running"))
	fmt.Println("Failed:", byPhase.Keys("Failed"))
	fmt.Println("Unknown:", byPhase.Keys("Unknown"))
	fmt.Println(pods.Stats().Decodes, "decoded")
	// Output:
	// Running: [ci/a ci/b]
	// Failed: [ci/c]
	// Unknown: []
	// 0 decoded
}

// A hundred pods of runs that have ended, but one that has not: what nobody
// reads is packed. In a program, Run sweeps once a minute; here two sweeps are a
// time in which nobody has read anything.
func ExamplePacker() {
	pods := indexer.New("pods")
	for i := range 100 {
		phase := "Succeeded"
		if i == 42 {
			phase = "Running"
		}
		o := podJSON(fmt.Sprint("pod-", i), fmt.Sprint("run-", i), fmt.Sprint(i+1), phase)
		pods.Apply(fifo.Entry{Key: o.Key(), Deltas: []fifo.Delta{{Type: fifo.Added, Object: o, UID: o.UID()}}})
	}
	packer := indexer.NewPacker(pods, indexer.PackConfig{
		After: time.Minute,
		Live:  func(o *wire.Object) bool { return o.Key().Name == "pod-42" }, // in a program: its run has not ended
	})
	before := pods.Stats()
	for range 2 {
		if err := packer.Sweep(context.Background()); err != nil {
			fmt.Println(err)
		}
	}
	now := pods.Stats()
	fmt.Println(before.Plain.Objects, "plain,", before.Packed.Objects, "packed")
	fmt.Println(now.Plain.Objects, "plain,", now.Packed.Objects, "packed, smaller by half:", now.Bytes < before.Bytes/2)

	pod, _, err := indexer.Read[corev1.Pod](pods).Get(types.NamespacedName{Namespace: "ci", Name: "pod-7"})
	fmt.Println(pod.Name, pod.Status.Phase, err)
	// Output:
	// 100 plain, 0 packed
	// 1 plain, 99 packed, smaller by half: true
	// pod-7 Succeeded <nil>
}
