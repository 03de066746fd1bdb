package pipelinerun

import (
	"testing"

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
