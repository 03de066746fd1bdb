package pipelinerun

import (
	"testing"

	"millrace/crds"
)

// What the runs of the tasks are given is put together once for all of a plan's: a copy of
// the pod template for each of two hundred would be two hundred.
func TestThePodTemplateIsPutTogetherOnceInAPlan(t *testing.T) {
	class := "nvidia"
	d := &decision{observation: observation{Run: &crds.PipelineRun{Spec: crds.PipelineRunSpec{
		TaskRunTemplate: crds.PipelineTaskRunTemplate{PodTemplate: &crds.PodTemplate{NodeSelector: map[string]string{"zone": "a"}}},
		TaskRunSpecs:    []crds.PipelineTaskRunSpec{{PipelineTaskName: "own", PodTemplate: &crds.PodTemplate{RuntimeClassName: &class}}},
	}}}}
	for _, task := range []string{"own", "a"} {
		first := d.specOf(task)
		if n := testing.AllocsPerRun(1000, func() { d.specOf(task) }); n != 0 {
			t.Errorf("%s: it takes %v allocations again", task, n)
		}
		if again := d.specOf(task); again.PodTemplate != first.PodTemplate || first.PodTemplate.NodeSelector["zone"] != "a" {
			t.Errorf("%s: %+v, then %+v", task, first.PodTemplate, again.PodTemplate)
		}
		if (first.PodTemplate.RuntimeClassName != nil) != (task == "own") {
			t.Errorf("%s: it has the class %v", task, first.PodTemplate.RuntimeClassName)
		}
	}
	if d.specOf("b").PodTemplate != d.specOf("a").PodTemplate {
		t.Error("another task without a spec of its own has another copy")
	}
}
