package validation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/graph"
	"millrace/crds/reference"
)

// graph looks at what ties tasks to each other. Tekton looks at references where it
// thinks that they are; elsewhere it accepts what can then not be run, and we warn.
func (r *report) graph(spec *crds.PipelineSpec, at *field.Path) {
	g, faults := graph.Draw(spec, at)
	for _, f := range faults {
		if f.Kind != graph.Cycle && !looksAt(f.Final, f.Place) {
			r.fails(f.At, f.Value, "%s", f.Detail)
			continue
		}
		r.invalid(f.At, f.Value, "%s", f.Detail)
	}
	t := tie{report: r, graph: g}
	for i := range spec.Tasks {
		t.task(&g.Nodes[i], at.Child("tasks").Index(i))
	}
	for i := range spec.Finally {
		t.task(&g.Nodes[len(spec.Tasks)+i], at.Child("finally").Index(i))
	}
}

// looksAt tells whether Tekton's admission looks for other tasks' names there.
func looksAt(final bool, place graph.Place) bool {
	if final {
		return place == graph.Params || place == graph.When
	}
	return place != graph.Spec
}

// A tie is the look at what one task has to do with others.
type tie struct {
	*report

	graph *graph.Graph
	of    *graph.Node
}

func (t tie) task(of *graph.Node, at *field.Path) {
	t.of = of
	graph.Texts(of.PipelineTask, at, func(text graph.Text) {
		var found []reference.Task
		result := false
		reference.EachTask(text.Text, func(one reference.Task) {
			found = append(found, one)
			result = result || one.Kind == reference.Result
		})
		for _, one := range found {
			t.reference(one, text, result)
		}
	})
}

// complain refuses where Tekton does; elsewhere the run will fail.
func (t tie) complain(refuse bool, text graph.Text, one reference.Task, why string) {
	what := "$(" + one.Name + "): " + why
	if refuse {
		t.invalid(text.At, field.OmitValueType{}, "%s", what)
		return
	}
	t.fails(text.At, field.OmitValueType{}, "%s", what)
}

// reference looks at one. besides tells that the text has the result of a task, too,
// which keeps Tekton from looking at states in it.
func (t tie) reference(one reference.Task, text graph.Text, besides bool) {
	var from *graph.Node
	if i, there := t.graph.Find(one.Task); there {
		from = &t.graph.Nodes[i]
	}
	early := text.Place == graph.Params || text.Place == graph.When
	switch {
	case one.Kind == reference.State && !t.of.Final:
		t.complain(early && !besides, text, one, "how tasks have ended is known when all have: refer to it in finally, or to a result of the task")
	case one.Kind == reference.State && one.Task != "" && (from == nil || from.Final):
		t.complain(early && !besides, text, one, fmt.Sprintf("the pipeline has no task %q among its tasks: add it, or correct the name", one.Task))
	case one.Kind == reference.Output:
		t.complain(text.Place == graph.Params, text, one, "artifacts are not served: have the task leave a result instead")
	case from == nil || one.Kind == reference.State: // which the graph has told
	case (one.Kind == reference.MatrixLength || one.Kind == reference.ResultLength) && from.Matrix == nil:
		t.complain(false, text, one, fmt.Sprintf("task %q has no matrix: take the reference out", one.Task))
	case one.Kind == reference.Result:
		t.result(one, text, from)
	}
}

// result looks at the use of a result. What a task that is given here declares is known;
// a run knows it of all, and looks again.
func (t tie) result(one reference.Task, text graph.Text, from *graph.Node) {
	looks := text.Place == graph.Params && !t.of.Final
	if from.Matrix != nil && !one.Whole {
		t.complain(looks, text, one, fmt.Sprintf("task %q has a run for each combination of its matrix, and each leaves a result: refer to all of them, as $(tasks.%s.results.%s[*])", one.Task, one.Task, one.Result))
		return
	}
	if from.TaskSpec == nil || from.TaskSpec.IsCustom() {
		return
	}
	for _, declared := range from.TaskSpec.Results {
		if declared.Name != one.Result {
			continue
		}
		if kind := defaulting.ParamType(crds.ParamSpec{Type: declared.Type, Properties: declared.Properties}); from.Matrix != nil && kind != crds.ParamTypeString {
			t.complain(looks, text, one, fmt.Sprintf("it is of type %s, and of the runs of a matrix only results of type string can be put together: declare it as a string", kind))
		}
		return
	}
	t.warn(text.At, "the run will fail: $(%s): task %q declares no result %q: declare it in the results of its taskSpec", one.Name, one.Task, one.Result)
}

// contexts are what a pipeline knows of itself and of its run.
func contexts() map[string][]string {
	return map[string][]string{
		"context.pipelineRun":  {"name", "namespace", "uid"},
		"context.pipeline":     {"name"},
		"context.pipelineTask": {"retries"},
	}
}
