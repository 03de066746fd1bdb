package pipelinerun

import (
	"millrace/crds"
	"millrace/crds/defaulting"
)

// specOf is what taskRunSpecs and taskRunTemplate say together of the runs of a task:
// the one of the task wins, field by field, in the pod template too. It is put together
// once in a plan, and once for all tasks of which taskRunSpecs says nothing; whoever asks
// changes nothing in it.
func (d *decision) specOf(task string) crds.PipelineTaskRunSpec {
	pr := d.Run
	if d.own == nil {
		d.own = keyed(pr.Spec.TaskRunSpecs, func(s crds.PipelineTaskRunSpec) string { return s.PipelineTaskName })
		d.merged = map[string]crds.PipelineTaskRunSpec{}
	}
	own := d.own[task]
	if merged, is := d.merged[own.PipelineTaskName]; is {
		return merged
	}
	if own.ServiceAccountName == "" {
		own.ServiceAccountName = pr.Spec.TaskRunTemplate.ServiceAccountName
	}
	own.PodTemplate = defaulting.MergePodTemplate(own.PodTemplate, pr.Spec.TaskRunTemplate.PodTemplate)
	d.merged[own.PipelineTaskName] = own
	return own
}
