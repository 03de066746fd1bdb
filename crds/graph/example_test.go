package graph_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/graph"
)

// A pipeline is drawn, and one that cannot be run says where.
func Example() {
	spec := &crds.PipelineSpec{Tasks: []crds.PipelineTask{
		{Name: "deploy", RunAfter: []string{"test"}},
		{Name: "test", Params: crds.Params{{Name: "image", Value: crds.NewString("$(tasks.build.results.digest)")}}},
		{Name: "build"},
	}}
	g, _ := graph.Draw(spec, field.NewPath("spec"))
	for _, i := range g.Order {
		fmt.Println(g.Nodes[i].Name)
	}

	spec.Tasks[2].RunAfter = []string{"deploy"}
	_, faults := graph.Draw(spec, field.NewPath("spec"))
	fmt.Printf("%s: %s\n", faults[0].At, faults[0].Value)
	// Output:
	// build
	// test
	// deploy
	// spec.tasks: deploy after test, test after build, build after deploy
}
