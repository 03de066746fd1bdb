package pipelinerun

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/graph"
)

// A drawing is a pipeline taken apart. It follows from the pipeline alone and does not
// change once it is drawn, so that the plans of a run can share one.
type drawing struct {
	*graph.Graph

	of *crds.PipelineSpec
}

// A task is a node, with what has become of it.
type task struct {
	*graph.Node

	runs     []run // in the order in which they were made
	recorded bool  // status.childReferences has them, all of them
	state    state
	reason   crds.SkippingReason  // of a skipped one
	shown    crds.WhenExpressions // its conditions, with values
	fault    string               // of an invalid one
	loaded   bool                 // the results are among the variables
	calm     bool                 // a parameter says that a failure does not matter
}

// A run is a child, or the memory of one.
type run struct {
	*crds.ChildStatusReference

	child *child // nil if it is gone
	told  bool   // the status that was stored last has the reference
}

// draw takes a pipeline apart, unless it cannot be run in any order.
func draw(spec *crds.PipelineSpec) (*drawing, *refusal) {
	g, faults := graph.Draw(spec, field.NewPath("spec"))
	if len(faults) > 0 {
		f := faults[0]
		return nil, refused(crds.PipelineRunReasonInvalidGraph, "%s: %s: %s", f.At, f.Value, f.Detail)
	}
	return &drawing{g, spec}, nil
}

// fresh is the graph's tasks, of none of which it is known yet what became of it.
func (g *drawing) fresh() []task {
	tasks := make([]task, len(g.Nodes))
	for i := range tasks {
		tasks[i].Node = &g.Nodes[i]
	}
	return tasks
}

// task is the one of that name; nil if there is none.
func (d *decision) task(name string) *task {
	if i, there := d.graph.Find(name); there {
		return d.tasks[i]
	}
	return nil
}

// needsOne tells whether one of those that a task needs is so.
func (d *decision) needsOne(t *task, so func(*task) bool) bool {
	return slices.ContainsFunc(t.Needs, func(i int) bool { return so(d.tasks[i]) })
}
