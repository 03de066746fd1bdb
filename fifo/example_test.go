package fifo_test

import (
	"context"
	"fmt"

	"millrace/fifo"
	"millrace/wire"
)

// A relist while the store is busy. It finds what is new, what has changed and
// what is gone; and it says nothing of what is as it was.
func Example() {
	object := func(name, uid, version string) *wire.Object {
		o, _ := wire.Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":%q,"resourceVersion":%q}}`, name, uid, version))
		return o
	}
	cache := store{} // stands for the indexer
	queue := fifo.New(cache, fifo.Config{})

	list := func(version string, objects ...*wire.Object) {
		queue.Begin()
		for _, o := range objects {
			if err := queue.Item(o); err != nil {
				fmt.Println(err) // this one was refused; the list goes on
			}
		}
		queue.Commit(version)
	}
	take := func(e fifo.Entry) error {
		for _, d := range e.Deltas {
			fmt.Println(d.Type, e.Key.Name, d.UID)
		}
		return cache.take(e)
	}
	drain := func() {
		for queue.Len() > 0 {
			if err := queue.Pop(context.Background(), take); err != nil {
				fmt.Println(err)
			}
		}
	}

	fmt.Println("the first list")
	list("10", object("web", "u1", "3"), object("db", "u2", "5"), object("job", "u3", "8"))
	drain()
	fmt.Println("a list after a time without connection")
	list("20", object("web", "u1", "3"), object("db", "u2", "17"), object("job", "u9", "18"))
	drain()
	// Output:
	// the first list
	// Added web u1
	// Added db u2
	// Added job u3
	// a list after a time without connection
	// Updated db u2
	// Deleted job u3
	// Added job u9
}
