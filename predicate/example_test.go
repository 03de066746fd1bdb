package predicate_test

import (
	"fmt"

	"millrace/indexer"
	"millrace/predicate"
	"millrace/wire"
)

// A reconciler that writes the status of its objects is not woken by that.
func Example() {
	scan := func(text string) *wire.Object {
		o, err := wire.Scan(wire.JSON, []byte(text))
		if err != nil {
			panic(err)
		}
		return o
	}
	asked := scan(`{"metadata":{"name":"a","generation":1},"spec":{"replicas":1}}`)
	served := scan(`{"metadata":{"name":"a","generation":1},"spec":{"replicas":1},"status":{"ready":1}}`)
	changed := scan(`{"metadata":{"name":"a","generation":2},"spec":{"replicas":2},"status":{"ready":1}}`)

	wanted := predicate.Or(predicate.GenerationChanged, predicate.NoGeneration)
	fmt.Println("status:", wanted(indexer.Change{Type: indexer.Updated, Old: asked, New: served}))
	fmt.Println("spec:", wanted(indexer.Change{Type: indexer.Updated, Old: served, New: changed}))
	// Output:
	// status: false
	// spec: true
}
