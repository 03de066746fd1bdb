package pipelinerun

import (
	"fmt"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// Whoever copies a run of a task, to try it again by hand, copies its label and its owner.
// A task that was written down, or passed over, has its runs: what becomes of the copy is
// nothing to it, nor to the pipeline.
func TestACopyOfARunIsNoRunOfItsTask(t *testing.T) {
	const (
		one  = `{name: a, taskSpec: {steps: [{image: x}]}}`
		skip = `{name: a, when: [{input: x, operator: in, values: [y]}], taskSpec: {steps: [{image: x}]}}`
		many = `{name: a, matrix: {params: [{name: p, value: [v, w]}]}, taskSpec: {params: [{name: p}], steps: [{image: x}]}}`
		sole = `{name: a, matrix: {params: [{name: p, value: [v]}]}, taskSpec: {params: [{name: p}], steps: [{image: x}]}}`
	)
	for name, story := range map[string]struct {
		task  string
		runs  []string // of the task
		copy  string
		kind  string
		ended corev1.ConditionStatus
	}{
		"that has failed":                        {one, []string{"run-a"}, "run-a-again", crds.KindTaskRun, corev1.ConditionFalse},
		"that goes on":                           {one, []string{"run-a"}, "run-a-again", crds.KindTaskRun, ""},
		"of its name, and of another kind":       {one, []string{"run-a"}, "run-a", crds.KindCustomRun, ""},
		"that has a number":                      {one, []string{"run-a"}, "run-a-1", crds.KindTaskRun, ""},
		"of a task that was passed over":         {skip, nil, "run-a-again", crds.KindTaskRun, ""},
		"of a combination":                       {many, []string{"run-a-0", "run-a-1"}, "run-a-1-again", crds.KindTaskRun, corev1.ConditionFalse},
		"of a combination, without a number":     {many, []string{"run-a-0", "run-a-1"}, "run-a", crds.KindTaskRun, ""},
		"of a combination, with the next number": {many, []string{"run-a-0", "run-a-1"}, "run-a-2", crds.KindTaskRun, corev1.ConditionFalse},
		"of the only combination, numbered":      {sole, []string{"run-a"}, "run-a-1", crds.KindTaskRun, ""},
		"of the only combination, that fails":    {sole, []string{"run-a"}, "run-a-again", crds.KindTaskRun, corev1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, parse(t, "{metadata: {name: run}, spec: {pipelineSpec: {tasks: ["+story.task+", {name: b, runAfter: [a], taskSpec: {steps: [{image: x}]}}, {name: c, taskSpec: {steps: [{image: x}]}}]}}}"))
			w.reconcile()
			for _, run := range story.runs {
				w.end(run, "Succeeded")
			}
			w.reconcile() // b has begun, or cannot
			before := text(w.run.Status)
			w.children = append(w.children, child{Kind: story.kind, Name: story.copy, UID: "copy", PipelineTask: "a", Status: story.ended})
			w.reconcile()
			if after := text(w.run.Status); after != before {
				t.Errorf("with the copy the status is\n%s\nand was\n%s", after, before)
			}
			for _, run := range w.created {
				w.end(run, "Succeeded")
			}
			w.reconcile()
			if end := w.run.Succeeded(); end.Status != corev1.ConditionTrue || len(w.run.Status.ChildReferences) != len(w.created) {
				t.Errorf("the run ends with %+v and %+v", end, w.run.Status.ChildReferences)
			}
		})
	}
}

// What a matrix takes from no other task says how many runs there are, whatever the task is
// given besides.
func TestACopyIsNoRunOfAMatrixBesideAResult(t *testing.T) {
	w := newWorld(t, parse(t, `{metadata: {name: run}, spec: {pipelineSpec: {tasks: [
		{name: z, taskSpec: {results: [{name: r}], steps: [{image: x}]}},
		{name: a, params: [{name: q, value: $(tasks.z.results.r)}], matrix: {params: [{name: p, value: [v, w]}]}, taskSpec: {params: [{name: p}, {name: q}], steps: [{image: x}]}}]}}}`))
	w.reconcile()
	w.end("run-z", "Succeeded", crds.TaskRunResult{Name: "r", Value: crds.NewString("said")})
	w.reconcile()
	w.children = append(w.children, child{Kind: crds.KindTaskRun, Name: "run-a-2", UID: "copy", PipelineTask: "a", Status: corev1.ConditionFalse})
	w.end("run-a-0", "Succeeded")
	w.end("run-a-1", "Succeeded")
	w.reconcile()
	if end := w.run.Succeeded(); end.Status != corev1.ConditionTrue || len(w.run.Status.ChildReferences) != 3 {
		t.Errorf("the run ends with %+v and %+v", end, w.run.Status.ChildReferences)
	}
}

// Of a matrix whose second run is refused for now, nothing is written down. Whoever copies
// the first one meanwhile keeps the task from nothing: neither is the second one taken for
// made, and gone, when there is room for it, nor the task for one that goes on.
func TestACopyOfARunKeepsItsTaskFromNothing(t *testing.T) {
	const many = "{kind: PipelineRun, metadata: {name: run}, spec: {pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: [v, w]}]}, taskSpec: {params: [{name: p}], steps: [{image: x}]}}]}}}"
	for _, copied := range []string{"run-a", "run-a-2", "run-a-again"} {
		for _, there := range [][]string{{"run-a-0"}, {"run-a-0", "run-a-1"}} {
			t.Run(fmt.Sprint(copied, " beside ", there), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, many)
					for _, name := range append(there, copied) {
						c.comes(crds.ResourceTaskRuns, crds.KindTaskRun, name)
					}
					for _, name := range there {
						c.ends(name, corev1.ConditionTrue, "Succeeded")
					}
					c.settle(nil)
					if len(there) == 1 {
						c.ends("run-a-1", corev1.ConditionTrue, "Succeeded")
						c.settle(nil)
					}
					if end, refs := c.run().Succeeded(), c.run().Status.ChildReferences; end.Status != corev1.ConditionTrue || len(refs) != 2 || refs[0].Name != "run-a-0" || refs[1].Name != "run-a-1" {
						t.Errorf("the run is at %+v, of %+v", end, refs)
					}
				})
			})
		}
	}
}

// What a task lacks is looked for among the children by the name that it would have.
func TestARunThatWasNotWrittenDownIsFoundByItsName(t *testing.T) {
	w := newWorld(t, parse(t, "{metadata: {name: run}, spec: {pipelineSpec: {tasks: [{name: a, matrix: {params: [{name: p, value: [v, w]}]}, taskSpec: {params: [{name: p}], steps: [{image: x}]}}]}}}"))
	w.reconcile()
	for _, label := range []string{"a", ""} {
		w.run.Status.ChildReferences = w.run.Status.ChildReferences[:1] // half of it
		w.child("run-a-1").PipelineTask = label
		w.reconcile()
		if refs := w.run.Status.ChildReferences; len(refs) != 2 || refs[1].Name != "run-a-1" {
			t.Errorf("labelled %q: %+v", label, refs)
		}
	}
}
