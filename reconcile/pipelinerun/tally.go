package pipelinerun

import "millrace/crds"

// A tally is which runs each task has: it ties the references of the status to the
// children that there are. It follows from these two and the graph alone, so that it
// need not be made for each look: it is brought up to date, in place, by whoever has
// taken the run out of the memory. Of two hundred children one has ended since, and the
// others are not looked at again.
type tally struct {
	graph    *drawing
	refs     []crds.ChildStatusReference // of the status
	children []*child
	refOf    []int    // of each child, the reference that it is tied to; none: -1
	ties     []*child // of each reference, its child; nil if there is none
	tasks    []task   // with what has become of those that have runs

	odd  bool   // two references are to one child: nobody but a stranger writes that
	room []task // for the tasks of a plan, which do not outlive it
}

// manyChanges is from when on all is tied anew: what is found for each change by itself
// takes longer.
const manyChanges = 16

// upToDate is the tally of what is known now, of which t may be an earlier one; nil is
// one of nothing.
func (t *tally) upToDate(g *drawing, refs []crds.ChildStatusReference, children []*child) *tally {
	if t.is(g, refs, children) || t.amend(g, refs, children) {
		return t
	}
	return tie(g, refs, children)
}

// is tells that a tally is one of these.
func (t *tally) is(g *drawing, refs []crds.ChildStatusReference, children []*child) bool {
	return t != nil && t.graph == g && len(refs) == len(t.refs) && extends(refs, t.refs) && len(children) == len(t.children) && extends(children, t.children)
}

// extends tells, without a look at them, that a list begins with all of another.
func extends[T any](list, first []T) bool {
	return len(list) >= len(first) && (len(first) == 0 || &list[0] == &first[0])
}

type kindAndName struct{ kind, name string }

func (c *child) called() kindAndName { return kindAndName{c.Kind, c.Name} }

func nameOf(ref *crds.ChildStatusReference) kindAndName { return kindAndName{ref.Kind, ref.Name} }

// tie finds all by name.
func tie(g *drawing, refs []crds.ChildStatusReference, children []*child) *tally {
	t := &tally{graph: g, refs: refs, children: children, refOf: make([]int, len(children)), ties: make([]*child, len(refs)), tasks: g.fresh()}
	byName := make(map[kindAndName]int, len(children))
	for i, c := range children {
		byName[c.called()], t.refOf[i] = i, -1
	}
	runs := make([]run, len(refs)) // most tasks have one
	for at := range refs {
		task := t.taskOf(at)
		if task == nil {
			continue
		}
		if i, there := byName[nameOf(&refs[at])]; there {
			t.odd = t.odd || t.refOf[i] >= 0
			t.refOf[i], t.ties[at] = at, children[i]
		}
		if task.runs == nil {
			task.runs = runs[at : at : at+1]
		}
		task.runs, task.recorded = append(task.runs, t.run(at)), true
	}
	for i := range t.tasks {
		if task := &t.tasks[i]; task.recorded {
			task.state = task.assess()
		}
	}
	return t
}

// amend takes in what has changed. It does not, if that is too much, or cannot be told
// from the names of what has changed; then the tally is good for nothing any more.
func (t *tally) amend(g *drawing, refs []crds.ChildStatusReference, children []*child) bool {
	if t == nil || t.odd || t.graph != g || !extends(refs, t.refs) || len(refs)-len(t.refs) > manyChanges {
		return false
	}
	for at := len(t.refs); at < len(refs); at++ {
		if t.find(nameOf(&refs[at])) >= 0 {
			return false
		}
		t.refs, t.ties = refs[:at+1], append(t.ties, nil)
		if task := t.taskOf(at); task != nil {
			task.runs, task.recorded = append(task.runs, t.run(at)), true
			task.state = task.assess()
		}
	}
	return t.follow(children)
}

// follow ties children as they were tied before, and those that were not there, or have
// changed, by their names.
func (t *tally) follow(children []*child) bool {
	before, tied := t.children, t.refOf
	t.children, t.refOf = children, make([]int, len(children))
	at, changes, kept := 0, 0, 0
	for i, c := range children {
		t.refOf[i] = -1
		if at < len(before) && (before[at] == c || before[at].called() == c.called()) {
			t.refOf[i] = tied[at]
			at++
			kept++
			if before[at-1] == c && t.refOf[i] >= 0 {
				continue
			}
		}
		if changes++; changes > manyChanges {
			return false
		}
		if t.refOf[i] < 0 {
			t.refOf[i] = t.find(c.called())
			if found := t.refOf[i]; found >= 0 && t.ties[found] != nil {
				kept++ // it has another place now
			}
		}
		t.replace(t.refOf[i], c)
	}
	return kept == len(before)
}

// replace ties another child to a reference, or the same one as it is now.
func (t *tally) replace(at int, c *child) {
	if at < 0 {
		return
	}
	t.ties[at] = c
	task := t.taskOf(at)
	for i := range task.runs {
		if r := &task.runs[i]; r.ChildStatusReference == &t.refs[at] {
			r.child = c
		}
	}
	task.state = task.assess()
}

// find is the reference of that name; the last are likely.
func (t *tally) find(what kindAndName) int {
	for at := len(t.refs) - 1; at >= 0; at-- {
		if nameOf(&t.refs[at]) == what && t.taskOf(at) != nil {
			return at
		}
	}
	return -1
}

// taskOf is the task that a reference names, if the pipeline has it.
func (t *tally) taskOf(at int) *task {
	if i, there := t.graph.Find(t.refs[at].PipelineTaskName); there {
		return &t.tasks[i]
	}
	return nil
}

func (t *tally) run(at int) run {
	return run{ChildStatusReference: &t.refs[at], child: t.ties[at], told: true}
}

// copied is the tasks, for a plan that may change them, and those of the graph in their
// order.
func (t *tally) copied() (tasks, order []*task) {
	t.room = append(t.room[:0], t.tasks...)
	room := make([]*task, len(t.tasks)+len(t.graph.Order))
	tasks, order = room[:len(t.tasks):len(t.tasks)], room[len(t.tasks):]
	for i := range tasks {
		tasks[i] = &t.room[i]
	}
	for i, at := range t.graph.Order {
		order[i] = tasks[at]
	}
	return tasks, order
}
