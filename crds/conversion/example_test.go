package conversion_test

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"millrace/crds/conversion"
)

// A Task as the public catalog has many: what a step may use is called otherwise in
// v1, and that it has a terminal is kept for whoever reads it as v1beta1 again.
func Example() {
	var task map[string]any
	err := yaml.Unmarshal([]byte(`
apiVersion: tekton.dev/v1beta1
kind: Task
metadata: {name: build}
spec:
  steps: [{name: compile, image: golang, resources: {limits: {memory: 1Gi}}, tty: true}]
`), &task)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := conversion.Convert(task, conversion.V1)
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := yaml.Marshal(stored)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(text))
	// Output:
	// apiVersion: tekton.dev/v1
	// kind: Task
	// metadata:
	//   annotations:
	//     tekton.dev/v1beta1Kept: '{"kind":"Task","fields":[{"at":["spec","steps",{"name":"compile"}],"is":{"tty":true}}]}'
	//   name: build
	// spec:
	//   steps:
	//   - computeResources:
	//       limits:
	//         memory: 1Gi
	//     image: golang
	//     name: compile
}
