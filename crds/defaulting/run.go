package defaulting

import "millrace/crds"

// TaskRun fills in a TaskRun.
func (d Defaults) TaskRun(run *crds.TaskRun) {
	spec := &run.Spec
	d.taskRef(spec.TaskRef)
	d.timeout(&spec.Timeout)
	d.serviceAccount(&spec.ServiceAccountName)
	spec.PodTemplate = MergePodTemplate(spec.PodTemplate, d.PodTemplate)
	if spec.TaskSpec != nil {
		d.TaskSpec(spec.TaskSpec)
	}
	if _, labelled := run.Labels[LabelManagedBy]; !labelled {
		if run.Labels == nil {
			run.Labels = map[string]string{}
		}
		run.Labels[LabelManagedBy] = d.Manager()
	}
}

// PipelineRun fills in a PipelineRun. Of the parts of its timeouts only the whole is
// filled in: they follow from each other.
func (d Defaults) PipelineRun(run *crds.PipelineRun) {
	spec := &run.Spec
	if spec.PipelineRef != nil {
		d.resolver(spec.PipelineRef.Name, &spec.PipelineRef.ResolverRef)
	}
	if spec.Timeouts == nil {
		spec.Timeouts = &crds.TimeoutFields{}
	}
	d.timeout(&spec.Timeouts.Pipeline)
	d.serviceAccount(&spec.TaskRunTemplate.ServiceAccountName)
	spec.TaskRunTemplate.PodTemplate = MergePodTemplate(spec.TaskRunTemplate.PodTemplate, d.PodTemplate)
	if spec.PipelineSpec != nil {
		d.PipelineSpec(spec.PipelineSpec)
	}
}

// CustomRun fills in a CustomRun; what its task is, its controller knows.
func (d Defaults) CustomRun(run *crds.CustomRun) {
	d.serviceAccount(&run.Spec.ServiceAccountName)
}

// ResolutionRequest fills in a ResolutionRequest: nothing, since each resolver has
// defaults of its own.
func (d Defaults) ResolutionRequest(*crds.ResolutionRequest) {}
