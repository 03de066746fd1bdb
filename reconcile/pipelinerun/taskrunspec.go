package pipelinerun

import (
	"millrace/crds"
	"millrace/crds/defaulting"
)

// specOf is what taskRunSpecs and taskRunTemplate say together of the runs of a task:
// the one of the task wins, field by field, in the pod template too.
func (d *decision) specOf(task string) crds.PipelineTaskRunSpec {
	pr := d.Run
	if d.own == nil {
		d.own = keyed(pr.Spec.TaskRunSpecs, func(s crds.PipelineTaskRunSpec) string { return s.PipelineTaskName })
	}
	own := d.own[task]
	if own.ServiceAccountName == "" {
		own.ServiceAccountName = pr.Spec.TaskRunTemplate.ServiceAccountName
	}
	own.PodTemplate = defaulting.MergePodTemplate(own.PodTemplate, pr.Spec.TaskRunTemplate.PodTemplate)
	return own
}
