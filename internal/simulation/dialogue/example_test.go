package dialogue_test

import (
	"fmt"

	"millrace/internal/simulation/dialogue"
)

// A script is read, and each of its exchanges says what it shows.
func ExampleParse() {
	script, err := dialogue.Parse("deletion", `# A ConfigMap goes.

## It goes.
DELETE configmaps/a
→ 200 application/json
{apiVersion: v1, kind: Status, metadata: {}, status: Success}

## It has gone.
GET configmaps/a until 404
→ 404 application/json
{apiVersion: v1, code: 404, kind: Status, metadata: {}, reason: NotFound, status: Failure}
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range script.Exchanges {
		fmt.Println(e.Title)
	}
	fmt.Println(script.Exchanges[1].Compare("→ 404 application/json\n{apiVersion: v1, code: 404, kind: Status, metadata: {}, reason: NotFound, status: Failure}") == "")
	// Output:
	// It goes.
	// It has gone.
	// true
}
