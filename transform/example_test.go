package transform_test

import (
	"fmt"

	"millrace/transform"
	"millrace/wire"
)

// What no controller reads is cut from the bytes, without a decode; the rest is as the
// server has spelled it.
func ExampleChain() {
	pod, err := wire.Scan(wire.JSON, []byte(`{"metadata":{"name":"web","uid":"u1","managedFields":[{"manager":"kubectl"}]},`+
		`"spec":{"nodeName":"n1","tolerations":[]},"status":{"phase":"Running"}}`))
	if err != nil {
		panic(err)
	}
	cut := transform.Chain(transform.Default(), transform.Cut(wire.Path{"spec", "tolerations"}))
	smaller, err := cut(pod)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s\n%s is known still\n", smaller.Bytes(), smaller.UID())
	again, _ := cut(smaller)
	fmt.Println("again:", len(again.Bytes()) == len(smaller.Bytes()))
	// Output:
	// {"metadata":{"name":"web","uid":"u1"},"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}
	// u1 is known still
	// again: true
}
