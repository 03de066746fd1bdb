package pipelinerun

import (
	"fmt"
	"slices"
	"strings"

	"millrace/crds"
)

// A task is one node of the graph, with what has become of it.
type task struct {
	*crds.PipelineTask

	final bool    // of finally
	needs []*task // those that must be done before this one can begin
	after []*task // the other way round
	refs  []reference
	when  []reference // those of its conditions

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
	crds.ChildStatusReference

	child *child // nil if it is gone
}

// link finds what a task refers to, and what it needs.
func (t *task) link(byName map[string]*task) *refusal {
	referencesOfTask(t.PipelineTask, func(r reference) { t.refs = append(t.refs, r) })
	referencesOfWhen(t.When, func(r reference) { t.when = append(t.when, r) })
	names := slices.Clone(t.RunAfter)
	for _, r := range slices.Concat(t.refs, t.when) {
		if r.task != "" && r.kind != refState {
			names = append(names, r.task)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		other := byName[name]
		switch {
		case other == nil:
			return refused(crds.PipelineRunReasonInvalidGraph, "task %s depends on %s but %s wasn't present in Pipeline", t.Name, name, name)
		case other == t:
			return refused(crds.PipelineRunReasonInvalidGraph, "cycle detected; task %q depends on itself", t.Name)
		case other.final:
			return refused(crds.PipelineRunReasonInvalidGraph, "task %s depends on %s, which is in finally: nothing runs after that", t.Name, name)
		case !t.final: // those of finally wait for the whole graph
			t.needs = append(t.needs, other)
			other.after = append(other.after, t)
		}
	}
	return nil
}

// newTasks are those of a pipeline, first those of the graph and then those of
// finally, in the order of the file; all by name, too.
func newTasks(spec *crds.PipelineSpec) (tasks []*task, byName map[string]*task) {
	byName = make(map[string]*task, len(spec.Tasks)+len(spec.Finally))
	add := func(of []crds.PipelineTask, final bool) {
		for i := range of {
			t := &task{PipelineTask: &of[i], final: final}
			tasks = append(tasks, t)
			byName[t.Name] = t
		}
	}
	add(spec.Tasks, false)
	add(spec.Finally, true)
	return tasks, byName
}

// sorted puts each task of the graph after those that it needs, else in the order
// of the file. It takes time for each task and each need, once.
func sorted(tasks []*task) ([]*task, *refusal) {
	open := make(map[*task]int, len(tasks))
	order := make([]*task, 0, len(tasks))
	for _, t := range tasks {
		if open[t] = len(t.needs); len(t.needs) == 0 {
			order = append(order, t)
		}
	}
	for i := 0; i < len(order); i++ {
		for _, next := range order[i].after {
			if open[next]--; open[next] == 0 {
				order = append(order, next)
			}
		}
	}
	if len(order) < len(tasks) {
		return nil, refused(crds.PipelineRunReasonInvalidGraph, "cycle detected; %s", circle(tasks, open))
	}
	return order, nil
}

// circle describes one of the cycles among the tasks that wait for others.
func circle(tasks []*task, open map[*task]int) string {
	at := slices.IndexFunc(tasks, func(t *task) bool { return open[t] > 0 })
	var way []*task
	for t := tasks[at]; ; {
		if i := slices.Index(way, t); i >= 0 {
			way = append(way[i:], t)
			break
		}
		way = append(way, t)
		t = t.needs[slices.IndexFunc(t.needs, func(n *task) bool { return open[n] > 0 })]
	}
	var steps []string
	for i := range way[1:] {
		steps = append(steps, fmt.Sprintf("task %q depends on %q", way[i].Name, way[i+1].Name))
	}
	if len(steps) > 10 {
		steps = append(steps[:10], "and so on")
	}
	return strings.Join(steps, ", ")
}
