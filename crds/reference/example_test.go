package reference_test

import (
	"fmt"

	"millrace/crds/reference"
)

// What a text refers to, and what of it.
func Example() {
	reference.Each(`echo $(params.colours[1]) $(date) $(params["a.b"])`, func(name string) {
		if v, ok := reference.Of("params", name); ok {
			fmt.Printf("%s: parameter %s %s\n", name, v.Name, v.Rest)
		}
	})
	// Output:
	// params.colours[1]: parameter colours [1]
	// params["a.b"]: parameter a.b
}
