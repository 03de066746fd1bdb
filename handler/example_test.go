package handler_test

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/handler"
	"millrace/indexer"
	"millrace/wire"
	"millrace/workqueue"
)

// A pod changes; the TaskRun that owns it is to be reconciled, and the reason
// travels with its key.
func ExampleEnqueueOwner() {
	scan := func(text string) *wire.Object {
		o, err := wire.Scan(wire.JSON, []byte(text))
		if err != nil {
			panic(err)
		}
		return o
	}
	pending := scan(`{"metadata":{"name":"run-1-pod","namespace":"ci","resourceVersion":"7",
		"ownerReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":"run-1"}]},"status":{"phase":"Pending"}}`)
	running := scan(`{"metadata":{"name":"run-1-pod","namespace":"ci","resourceVersion":"9",
		"ownerReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":"run-1"}]},"status":{"phase":"Running"}}`)

	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "taskruns"})
	onPod := handler.EnqueueOwner("pods", schema.GroupKind{Group: "tekton.dev", Kind: "TaskRun"}, queue)
	onPod(indexer.Change{Type: indexer.Updated, Key: pending.Key(), Old: pending, New: running})

	key, causes, err := queue.Get(context.Background())
	fmt.Println(key, causes, err)
	// Output:
	// ci/run-1 [pods update run-1-pod 7→9] <nil>
}
