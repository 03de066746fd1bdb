package pipelinerun

import (
	"fmt"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
)

// A graph is a pipeline taken apart. It follows from the pipeline alone and does not
// change once it is drawn, so that the plans of a run can share one.
type graph struct {
	of     *crds.PipelineSpec
	nodes  []node // those of tasks in the order of the file, then those of finally
	byName map[string]int
	order  []int // those of tasks, each after what it needs
}

// A node is what a task is, whatever becomes of it.
type node struct {
	*crds.PipelineTask

	final bool  // of finally
	needs []int // those that must be done before this one can begin
	refs  []reference.Task
	when  []reference.Task // those of its conditions
}

// A task is a node, with what has become of it.
type task struct {
	*node

	runs     []run // in the order in which they were made
	recorded bool  // status.childReferences has them, all of them
	state    state
	reason   crds.SkippingReason  // of a skipped one
	shown    crds.WhenExpressions // its conditions, with values
	fault    string               // of an invalid one
	loaded   bool                 // the results are among the variables
}

// A run is a child, or the memory of one.
type run struct {
	*crds.ChildStatusReference

	child *child // nil if it is gone
	told  bool   // the status that was stored last has the reference
}

// draw takes a pipeline apart, unless it cannot be run in any order.
func draw(spec *crds.PipelineSpec) (*graph, *refusal) {
	g := &graph{of: spec, byName: make(map[string]int, len(spec.Tasks)+len(spec.Finally))}
	g.add(spec.Tasks, false)
	g.add(spec.Finally, true)
	for i := range g.nodes {
		if r := g.link(i); r != nil {
			return nil, r
		}
	}
	return g, g.sort(len(spec.Tasks))
}

func (g *graph) add(tasks []crds.PipelineTask, final bool) {
	for i := range tasks {
		g.byName[tasks[i].Name] = len(g.nodes)
		g.nodes = append(g.nodes, node{PipelineTask: &tasks[i], final: final})
	}
}

// link finds what a task refers to, and what it needs.
func (g *graph) link(i int) *refusal {
	t := &g.nodes[i]
	referencesOfTask(t.PipelineTask, func(r reference.Task) { t.refs = append(t.refs, r) })
	referencesOfWhen(t.When, func(r reference.Task) { t.when = append(t.when, r) })
	names := slices.Clone(t.RunAfter)
	for _, r := range slices.Concat(t.refs, t.when) {
		if r.Task != "" && r.Kind != reference.State {
			names = append(names, r.Task)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		other, there := g.byName[name]
		switch {
		case !there:
			return refused(crds.PipelineRunReasonInvalidGraph, "task %s depends on %s but %s wasn't present in Pipeline", t.Name, name, name)
		case other == i:
			return refused(crds.PipelineRunReasonInvalidGraph, "cycle detected; task %q depends on itself", t.Name)
		case g.nodes[other].final:
			return refused(crds.PipelineRunReasonInvalidGraph, "task %s depends on %s, which is in finally: nothing runs after that", t.Name, name)
		case !t.final: // those of finally wait for the whole graph
			t.needs = append(t.needs, other)
		}
	}
	return nil
}

// sort puts each of the n tasks after those that it needs, else in the order of the
// file. It takes time for each task and each need, once.
func (g *graph) sort(n int) *refusal {
	open, after := make([]int, n), make([][]int, n)
	g.order = make([]int, 0, n)
	for i := range n {
		if open[i] = len(g.nodes[i].needs); open[i] == 0 {
			g.order = append(g.order, i)
		}
		for _, need := range g.nodes[i].needs {
			after[need] = append(after[need], i)
		}
	}
	for at := 0; at < len(g.order); at++ {
		for _, next := range after[g.order[at]] {
			if open[next]--; open[next] == 0 {
				g.order = append(g.order, next)
			}
		}
	}
	if len(g.order) < n {
		return refused(crds.PipelineRunReasonInvalidGraph, "cycle detected; %s", g.circle(open))
	}
	return nil
}

// circle describes one of the cycles among the tasks that wait for others.
func (g *graph) circle(open []int) string {
	waits := func(i int) bool { return open[i] > 0 }
	var way []int
	for i := slices.IndexFunc(open, func(n int) bool { return n > 0 }); ; {
		if at := slices.Index(way, i); at >= 0 {
			way = append(way[at:], i)
			break
		}
		way = append(way, i)
		i = g.nodes[i].needs[slices.IndexFunc(g.nodes[i].needs, waits)]
	}
	var steps []string
	for i := range way[1:] {
		steps = append(steps, fmt.Sprintf("task %q depends on %q", g.nodes[way[i]].Name, g.nodes[way[i+1]].Name))
	}
	if len(steps) > 10 {
		steps = append(steps[:10], "and so on")
	}
	return strings.Join(steps, ", ")
}

// populate is the graph's tasks, of none of which it is known yet what became of it.
func (g *graph) populate() (tasks, order []*task) {
	all := make([]task, len(g.nodes))
	tasks, order = make([]*task, len(all)), make([]*task, len(g.order))
	for i := range all {
		all[i].node, tasks[i] = &g.nodes[i], &all[i]
	}
	for i, at := range g.order {
		order[i] = tasks[at]
	}
	return tasks, order
}

// task is the one of that name; nil if there is none.
func (d *decision) task(name string) *task {
	if i, there := d.graph.byName[name]; there {
		return d.tasks[i]
	}
	return nil
}

// needsOne tells whether one of those that a task needs is so.
func (d *decision) needsOne(t *task, so func(*task) bool) bool {
	return slices.ContainsFunc(t.needs, func(i int) bool { return so(d.tasks[i]) })
}
