package pipelinerun

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// settleAll reconciles every PipelineRun that there is until none has anything to do.
func (c *cluster) settleAll() {
	c.t.Helper()
	for range 100 {
		before := len(c.calls)
		for _, name := range slices.Sorted(maps.Keys(c.objects[crds.ResourcePipelineRuns])) {
			if _, err := c.rec.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: name}); err != nil {
				c.t.Fatal(err)
			}
		}
		if len(c.calls) == before {
			return
		}
	}
	c.t.Fatal("does not settle")
}

func (c *cluster) pipelineRun(name string) *crds.PipelineRun {
	c.t.Helper()
	run := &crds.PipelineRun{}
	raw := c.objects[crds.ResourcePipelineRuns][name]
	if raw == nil {
		c.t.Fatalf("there is no PipelineRun %s among %v", name, slices.Sorted(maps.Keys(c.objects[crds.ResourcePipelineRuns])))
	}
	check(json.Unmarshal(raw, run))
	return run
}

func pipelineOfOne(name, task string) string {
	return fmt.Sprintf("apiVersion: tekton.dev/v1\nkind: Pipeline\nmetadata: {name: %s}\nspec: {params: [{name: next, default: none}], tasks: [%s]}", name, task)
}

const outerRun = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec: {pipelineRef: {name: outer}}
`

// The run of a pipeline within a pipeline is a child like others: made once, known by
// its owner, told of, its results read; it carries the labels of its own pipeline.
func TestAPipelineWithinAPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t,
			pipelineOfOne("outer", "{name: a, pipelineRef: {name: inner}}, {name: b, params: [{name: p, value: $(tasks.a.results.r)}], taskSpec: {params: [{name: p}], steps: [{image: x}]}}"),
			"apiVersion: tekton.dev/v1\nkind: Pipeline\nmetadata: {name: inner}\nspec: {tasks: [{name: c, taskSpec: {results: [{name: r}], steps: [{image: x}]}}], results: [{name: r, value: $(tasks.c.results.r)}]}",
			outerRun)
		c.settleAll()
		inner := c.pipelineRun("run-a")
		for label, want := range map[string]string{labelPipeline: "inner", labelPipelineRun: "run", labelPipelineTask: "a", labelMemberOf: "tasks"} {
			if got := inner.Labels[label]; got != want {
				t.Errorf("%s is %q, want %q", label, got, want)
			}
		}
		if got := c.taskRun("run-a-c").Labels; got[labelPipelineRun] != "run-a" || got[labelPipeline] != "inner" || got[labelPipelineTask] != "c" {
			t.Errorf("labels of the TaskRun: %v", got)
		}
		c.patch(crds.ResourceTaskRuns, "run-a-c", `{"status":{"results":[{"name":"r","type":"string","value":"x"}]}}`)
		c.ends("run-a-c", corev1.ConditionTrue, "Succeeded")
		c.settleAll()
		if got := c.taskRun("run-b").Spec.Params[0].Value.StringVal; got != "x" {
			t.Errorf("the result of the pipeline within is %q", got)
		}
		c.ends("run-b", corev1.ConditionTrue, "Succeeded")
		c.settleAll()
		if run := c.run(); run.Succeeded().Status != corev1.ConditionTrue || len(run.Status.ChildReferences) != 2 || run.Status.ChildReferences[0].Kind != crds.KindPipelineRun {
			t.Errorf("%+v", run.Status)
		}
	})
}

// Whatever is lost or refused while a pipeline within a pipeline is asked to stop, it is,
// with what it has begun, and neither says that it has ended before its TaskRun has.
func TestCancelReachesThePipelinesWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, pipelineOfOne("outer", "{name: a, pipelineRef: {name: inner}}"), pipelineOfOne("inner", "{name: c, taskSpec: {steps: [{image: x}]}}"), outerRun)
		c.settleAll()
		c.patch(crds.ResourcePipelineRuns, "run", `{"spec":{"status":"Cancelled"}}`)
		c.settleAll()
		if got := c.taskRun("run-a-c").Spec.Status; got != crds.TaskRunSpecStatusCancelled {
			t.Errorf("the TaskRun is asked %q", got)
		}
		if c.run().IsDone() || c.pipelineRun("run-a").IsDone() {
			t.Error("there is still a TaskRun")
		}
		c.ends("run-a-c", corev1.ConditionFalse, string(crds.TaskRunReasonCancelled))
		c.settleAll()
		for _, name := range []string{"run", "run-a"} {
			if got := c.pipelineRun(name).Succeeded().Reason; got != "Cancelled" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

// A pipeline that is within itself ends with a reason, and not with ever more runs: by
// its name at once, through others, through a parameter, and by a depth where names tell
// nothing.
func TestAPipelineWithinItselfEnds(t *testing.T) {
	again := func(name string) string {
		return fmt.Sprintf("{name: a, params: [{name: next, value: $(params.next)}], pipelineRef: %s}", name)
	}
	const byParam = "{resolver: cluster, params: [{name: kind, value: pipeline}, {name: namespace, value: default}, {name: name, value: $(params.next)}]}"
	for name, one := range map[string]struct {
		pipelines []string
		runs      int
		says      string
	}{
		"itself":      {[]string{pipelineOfOne("outer", again("{name: outer}"))}, 1, "outer runs outer"},
		"another":     {[]string{pipelineOfOne("outer", again("{name: other}")), pipelineOfOne("other", again("{name: outer}"))}, 2, "outer runs other runs outer"},
		"a parameter": {[]string{strings.Replace(pipelineOfOne("outer", again(byParam)), "none", "outer", 1)}, 2, "outer runs outer"},
	} {
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(t, append(one.pipelines, outerRun)...)
			c.settleAll()
			var said []string
			for name := range c.objects[crds.ResourcePipelineRuns] {
				if condition := c.pipelineRun(name).Succeeded(); condition.Status == corev1.ConditionFalse {
					said = append(said, condition.Reason+condition.Message)
				}
			}
			if len(said) != one.runs || !strings.Contains(strings.Join(said, "\n"), "PipelineInvalidGraph") || !strings.Contains(strings.Join(said, "\n"), one.says) {
				t.Errorf("%s: %d runs say %q", name, len(said), said)
			}
		})
	}
}

// Embedded pipelines have no names to tell them apart: what is within itself there would
// have no end as a document, and is as deep as it is.
func TestPipelinesAreWithinEachOtherSoDeepAndNoDeeper(t *testing.T) {
	for depth, want := range map[int]corev1.ConditionStatus{maxNesting: corev1.ConditionUnknown, maxNesting + 1: corev1.ConditionFalse} {
		synctest.Test(t, func(t *testing.T) {
			inner := "{tasks: [{name: t, taskSpec: {steps: [{image: x}]}}]}"
			for range depth {
				inner = "{tasks: [{name: a, pipelineSpec: " + inner + "}]}"
			}
			c := newCluster(t, "apiVersion: tekton.dev/v1\nkind: PipelineRun\nmetadata: {name: run}\nspec: {pipelineSpec: "+inner+"}")
			c.settleAll()
			if got := c.run().Succeeded(); got.Status != want {
				t.Errorf("%d deep: %+v", depth, got)
			}
			if n := len(c.objects[crds.ResourcePipelineRuns]); n != depth+1 {
				t.Errorf("%d deep: %d runs", depth, n)
			}
		})
	}
}
