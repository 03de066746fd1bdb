package graph

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/reference"
)

// A Graph is a pipeline taken apart.
type Graph struct {
	Nodes []Node // those of tasks in the order of the file, then those of finally
	Order []int  // those of tasks, each after what it needs

	byName map[string]int
}

// A Node is what a task is, whatever becomes of it.
type Node struct {
	*crds.PipelineTask // as it is in the pipeline, but for a matrix that says nothing

	Final    bool             // of finally
	Needs    []int            // those that must be over before this one can begin; rising, each once
	Refs     []reference.Task // those to other tasks, but for its conditions'
	WhenRefs []reference.Task // those of its conditions

	// DynamicMatrix: values of its matrix are results of other tasks, so that nobody knows
	// how many runs it has before those tasks have ended.
	DynamicMatrix bool
}

// A Fault is why a pipeline cannot be run in any order.
type Fault struct {
	Kind   Kind
	Place  Place // of a reference; without meaning for a Cycle or of runAfter
	Final  bool  // a task of finally has it
	At     *field.Path
	Value  string // what stands there
	Detail string // what is wrong, and what to do
}

// A Kind tells Faults apart.
type Kind int

// What can be wrong with a graph.
const (
	Missing   Kind = iota // it depends on a task that is not in the pipeline
	OnFinally             // it depends on a task of finally
	OnItself              // it depends on itself
	Cycle                 // tasks wait for each other
)

// Draw takes a pipeline apart. at is where its spec is.
func Draw(spec *crds.PipelineSpec, at *field.Path) (*Graph, []Fault) {
	g := &Graph{byName: make(map[string]int, len(spec.Tasks)+len(spec.Finally))}
	g.add(spec.Tasks, false)
	g.add(spec.Finally, true)
	l := linking{Graph: g}
	for i := range spec.Tasks {
		l.link(i, at.Child("tasks").Index(i))
	}
	for i := range spec.Finally {
		l.link(len(spec.Tasks)+i, at.Child("finally").Index(i))
	}
	if circle := g.sort(len(spec.Tasks)); circle != "" {
		l.fault(Fault{
			Kind: Cycle, At: at.Child("tasks"), Value: circle,
			Detail: "these tasks wait for each other in a cycle, and none could begin: take out one of these runAfter, or of the references to results that make one wait",
		})
	}
	return g, l.faults
}

// Find is the place in Nodes of the task of that name; of two, the later.
func (g *Graph) Find(name string) (at int, there bool) {
	at, there = g.byName[name]
	return at, there
}

func (g *Graph) add(tasks []crds.PipelineTask, final bool) {
	for i := range tasks {
		g.byName[tasks[i].Name] = len(g.Nodes)
		g.Nodes = append(g.Nodes, Node{PipelineTask: single(&tasks[i]), Final: final})
	}
}

// single is a task without its matrix if that says nothing: to Tekton it is none, and the
// task has one run. Taken as one it would have none, and the pipeline succeed without it.
func single(t *crds.PipelineTask) *crds.PipelineTask {
	if t.Matrix == nil || len(t.Matrix.Params)+len(t.Matrix.Include) > 0 {
		return t
	}
	alone := *t
	alone.Matrix = nil
	return &alone
}

// linking is the work of finding what each task needs.
type linking struct {
	*Graph

	faults []Fault
}

// mostFaults is more than anybody reads.
const mostFaults = 100

func (l *linking) fault(f Fault) {
	if len(l.faults) < mostFaults || f.Kind == Cycle {
		l.faults = append(l.faults, f)
	}
}

// link finds what a task refers to, and what it needs.
func (l *linking) link(i int, at *field.Path) {
	t := &l.Nodes[i]
	for j, name := range t.RunAfter {
		if t.Final {
			break // which is a fault of its own, and not of the graph
		}
		if f, ok := l.need(i, name); !ok {
			f.At, f.Value = at.Child("runAfter").Index(j), name
			l.fault(f)
		}
	}
	Texts(t.PipelineTask, at, func(text Text) {
		reference.EachTask(text.Text, func(r reference.Task) {
			if text.Place == When {
				t.WhenRefs = append(t.WhenRefs, r)
			} else {
				t.Refs = append(t.Refs, r)
			}
			t.DynamicMatrix = t.DynamicMatrix || text.Place == Matrix && r.Task != ""
			if r.Task == "" || r.Kind == reference.State {
				return
			}
			if f, ok := l.need(i, r.Task); !ok {
				f.At, f.Place, f.Value = text.At, text.Place, "$("+r.Name+")"
				l.fault(f)
			}
		})
	})
	slices.Sort(t.Needs)
	t.Needs = slices.Compact(t.Needs)
}

// need has a task wait for another, unless it cannot.
func (l *linking) need(i int, name string) (f Fault, ok bool) {
	t := &l.Nodes[i]
	other, there := l.byName[name]
	switch {
	case len(l.faults) >= mostFaults && (!there || other == i || l.Nodes[other].Final):
		return f, false // which is not told
	case !there:
		return Fault{Kind: Missing, Final: t.Final, Detail: fmt.Sprintf("task %q depends on %q, which is no task of this pipeline: add a task of that name, or correct the name", t.Name, name)}, false
	case other == i:
		return Fault{Kind: OnItself, Final: t.Final, Detail: fmt.Sprintf("task %q depends on itself: a task cannot wait for itself or use its own results", t.Name)}, false
	case l.Nodes[other].Final:
		return Fault{Kind: OnFinally, Final: t.Final, Detail: fmt.Sprintf("task %q depends on %q, which is in finally: nothing runs after that; use results of tasks only", t.Name, name)}, false
	case !t.Final: // those of finally wait for the whole graph
		t.Needs = append(t.Needs, other)
	}
	return f, true
}

// sort puts each of the n tasks after those that it needs, else in the order of the
// file, and describes a circle if it cannot. It takes time for each task and each need,
// once.
func (g *Graph) sort(n int) (circle string) {
	open, after := make([]int, n), make([][]int, n)
	g.Order = make([]int, 0, n)
	for i := range n {
		if open[i] = len(g.Nodes[i].Needs); open[i] == 0 {
			g.Order = append(g.Order, i)
		}
		for _, need := range g.Nodes[i].Needs {
			after[need] = append(after[need], i)
		}
	}
	for at := 0; at < len(g.Order); at++ {
		for _, next := range after[g.Order[at]] {
			if open[next]--; open[next] == 0 {
				g.Order = append(g.Order, next)
			}
		}
	}
	if len(g.Order) < n {
		return g.circle(open)
	}
	return ""
}

// mostSteps of a circle are described; who sees these finds the others.
const mostSteps = 10

// circle describes one of the cycles among the tasks that wait for others.
func (g *Graph) circle(open []int) string {
	waits := func(i int) bool { return open[i] > 0 }
	step := make(map[int]int) // when on the way each was met
	var way []int
	for i := slices.IndexFunc(open, func(n int) bool { return n > 0 }); ; {
		if at, met := step[i]; met {
			way = append(way[at:], i)
			break
		}
		step[i] = len(way)
		way = append(way, i)
		i = g.Nodes[i].Needs[slices.IndexFunc(g.Nodes[i].Needs, waits)]
	}
	var steps []string
	for i := range way[1:] {
		if i == mostSteps {
			steps = append(steps, "and so on")
			break
		}
		steps = append(steps, fmt.Sprintf("%s after %s", g.Nodes[way[i]].Name, g.Nodes[way[i+1]].Name))
	}
	return strings.Join(steps, ", ")
}
