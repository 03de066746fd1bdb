package defaulting

import "millrace/crds"

// Pipeline fills in a Pipeline.
func (d Defaults) Pipeline(pipeline *crds.Pipeline) { d.PipelineSpec(&pipeline.Spec) }

// PipelineSpec fills in what a pipeline is, wherever it is written.
func (d Defaults) PipelineSpec(spec *crds.PipelineSpec) {
	params(spec.Params)
	for i := range spec.Tasks {
		d.pipelineTask(&spec.Tasks[i])
	}
	for i := range spec.Finally {
		d.pipelineTask(&spec.Finally[i])
	}
}

func (d Defaults) pipelineTask(task *crds.PipelineTask) {
	d.taskRef(task.TaskRef)
	if task.PipelineRef != nil {
		d.resolver(task.PipelineRef.Name, &task.PipelineRef.ResolverRef)
	}
	if task.TaskSpec != nil {
		d.TaskSpec(&task.TaskSpec.TaskSpec)
	}
	if task.PipelineSpec != nil {
		d.PipelineSpec(task.PipelineSpec)
	}
}
