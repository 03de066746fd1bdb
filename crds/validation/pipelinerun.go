package validation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/reference"
)

// PipelineRun tells what is wrong with a PipelineRun, and with the pipeline that is
// written in it. Such a pipeline, and the tasks in it, need not declare the parameters
// and workspaces that the run gives.
func PipelineRun(run *crds.PipelineRun, o Options) (errs field.ErrorList, warnings []string) {
	r := &report{Options: o}
	r.pipelineRun(run)
	if spec := run.Spec.PipelineSpec; spec != nil {
		at := field.NewPath("spec", "pipelineSpec")
		r.pipelineSpec(spec, at)
		r.inlineUses(run, at)
		r.missingOfRun(run, at)
	}
	return r.result()
}

// RunningPipelineRun tells what is wrong with a PipelineRun that is about to run, apart
// from the pipeline that it runs, wherever that is written; see PipelineSpec.
func RunningPipelineRun(run *crds.PipelineRun, o Options) field.ErrorList {
	o.Strict = true
	r := &report{Options: o}
	r.pipelineRun(run)
	return r.errs
}

// pipelineRun looks at what a run says itself.
func (r *report) pipelineRun(run *crds.PipelineRun) {
	spec, at := &run.Spec, field.NewPath("spec")
	r.metadata(&run.ObjectMeta)
	r.pipelineOfRun(spec, at)
	r.params(spec.Params, at.Child("params"))
	for i, param := range spec.Params {
		r.noResults(param, at.Child("params").Index(i).Child("value"))
	}
	r.pipelineRunStatus(run, at.Child("status"))
	r.timeouts(spec, at)
	r.taskRunSpecs(spec, at.Child("taskRunSpecs"))
	r.podTemplate(spec.TaskRunTemplate.PodTemplate, at.Child("taskRunTemplate", "podTemplate"))
	twice(spec.Workspaces, func(b crds.WorkspaceBinding) string { return b.Name }, func(i int, name string) {
		r.invalid(at.Child("workspaces").Index(i).Child("name"), name, "the workspace is bound before: leave one of them")
	})
	for i, b := range spec.Workspaces {
		r.workspaceBinding(b, at.Child("workspaces").Index(i))
	}
}

func (r *report) pipelineOfRun(spec *crds.PipelineRunSpec, at *field.Path) {
	switch {
	case spec.PipelineRef == nil && spec.PipelineSpec == nil:
		r.required(at.Child("pipelineRef"), "say what to run: name a Pipeline here, or write one in pipelineSpec")
	case spec.PipelineRef != nil && spec.PipelineSpec != nil:
		r.forbidden(at.Child("pipelineSpec"), "a run has one pipeline, and this one has pipelineRef, too: leave one of them")
	}
	if ref := spec.PipelineRef; ref != nil {
		r.ref(ref.Name, ref.ResolverRef, at.Child("pipelineRef"))
	}
}

// noResults: when a run begins, no task has left anything.
func (r *report) noResults(param crds.Param, at *field.Path) {
	first := ""
	reference.EachOf(param.Value, func(name string) {
		if resultSource(name) != "" && first == "" {
			first = name
		}
	})
	if first != "" {
		r.invalid(at, field.OmitValueType{}, "$(%s): what tasks leave is not known when the run begins: refer to it in the params of a task, or in the results of the pipeline", first)
	}
}

func (r *report) pipelineRunStatus(run *crds.PipelineRun, at *field.Path) {
	known := []crds.PipelineRunSpecStatus{
		crds.PipelineRunSpecStatusCancelled, crds.PipelineRunSpecStatusCancelledRunFinally,
		crds.PipelineRunSpecStatusStoppedRunFinally, crds.PipelineRunSpecStatusPending,
	}
	switch {
	case run.Spec.Status != "" && !slices.Contains(known, run.Spec.Status):
		r.refuse(field.NotSupported(at, run.Spec.Status, known))
	case run.IsPending() && run.HasStarted():
		r.forbidden(at, "the run has started, and cannot wait any more: cancel it with %s", crds.PipelineRunSpecStatusCancelled)
	}
}

// taskRunSpecs are what the runs of single tasks get.
func (r *report) taskRunSpecs(spec *crds.PipelineRunSpec, at *field.Path) {
	twice(spec.TaskRunSpecs, func(s crds.PipelineTaskRunSpec) string { return s.PipelineTaskName }, func(i int, name string) {
		r.warn(at.Index(i).Child("pipelineTaskName"), "there is one for task %q before, and this alone counts: put them together", name)
	})
	for i, one := range spec.TaskRunSpecs {
		at := at.Index(i)
		r.stepSpecs(one.StepSpecs, at.Child("stepSpecs"))
		r.sidecarSpecs(one.SidecarSpecs, at.Child("sidecarSpecs"))
		if one.ComputeResources != nil {
			r.resourcesTwice(one.StepSpecs, at.Child("stepSpecs"))
		}
		r.podTemplate(one.PodTemplate, at.Child("podTemplate"))
		r.timeout(one.Timeout, at.Child("timeout"))
	}
}

// missingOfRun warns of what the pipeline wants of the run and does not get, and of what
// the run says of tasks that there are not.
func (r *report) missingOfRun(run *crds.PipelineRun, at *field.Path) {
	spec := run.Spec.PipelineSpec
	r.unfitParams(run.Spec.Params, spec.Params, at.Child("params"))
	bound := map[string]bool{}
	for _, w := range run.Spec.Workspaces {
		bound[w.Name] = true
	}
	for i, w := range spec.Workspaces {
		if !w.Optional && !bound[w.Name] {
			r.warn(at.Child("workspaces").Index(i), "the run will fail: it does not bind workspace %q: add it to spec.workspaces, or make it optional", w.Name)
		}
	}
	tasks := map[string]bool{}
	for _, t := range slices.Concat(spec.Tasks, spec.Finally) {
		tasks[t.Name] = true
	}
	for i, s := range run.Spec.TaskRunSpecs {
		if !tasks[s.PipelineTaskName] {
			r.warn(field.NewPath("spec", "taskRunSpecs").Index(i).Child("pipelineTaskName"), "the run will fail: the pipeline has no task %q: correct the name", s.PipelineTaskName)
		}
	}
}

// inlineUses holds the tasks of a pipeline that a run gives itself to what is declared or
// given anywhere in it; what is given to one task is known to all, as Tekton has it, and
// it looks at no task of finally.
func (r *report) inlineUses(run *crds.PipelineRun, at *field.Path) {
	spec := run.Spec.PipelineSpec
	known := inlineScope(run)
	for i := range spec.Tasks {
		t, at := &spec.Tasks[i], at.Child("tasks").Index(i)
		r.paramUses(t, known, at)
		if isPlain(*t) {
			r.embeddedUses(t, known, at.Child("taskSpec"))
		}
	}
	for i := range spec.Finally {
		t, at := &spec.Finally[i], at.Child("finally").Index(i)
		r.doubt(func(r *report) { r.paramUses(t, known, at) })
		if isPlain(*t) {
			s := scopeOf(&t.TaskSpec.TaskSpec)
			s.open = true
			r.taskVariables(&t.TaskSpec.TaskSpec, at.Child("taskSpec"), s)
		}
	}
	if slices.ContainsFunc(spec.Tasks, isPlain) {
		r.objects(spec.Params, at.Child("params"))
		r.inlineNames(run, at)
	}
}

// inlineNames: where one task is of steps that are written here, Tekton looks at the names
// of all parameters of the run.
func (r *report) inlineNames(run *crds.PipelineRun, at *field.Path) {
	spec := run.Spec.PipelineSpec
	declared := paramsOf(spec.Params)
	r.givenNames(run.Spec.Params, declared, field.NewPath("spec", "params"))
	for i, p := range spec.Params {
		r.paramName(p, at.Child("params").Index(i))
	}
	for i, t := range spec.Tasks {
		if t.TaskSpec != nil {
			maps.Copy(declared, paramsOf(t.TaskSpec.Params))
		}
		r.givenNames(t.Params, declared, at.Child("tasks").Index(i).Child("params"))
	}
}

// doubt is a look at what Tekton's admission does not look at: what is wrong there, the
// run finds out.
func (r *report) doubt(look func(*report)) {
	aside := &report{Options: r.Options}
	look(aside)
	for _, err := range aside.errs {
		r.fails(field.NewPath(err.Field), field.OmitValueType{}, "%s", err.Detail)
	}
}

// inlineScope is what is declared or given anywhere in a run that has its pipeline in it.
func inlineScope(run *crds.PipelineRun) *scope {
	spec := run.Spec.PipelineSpec
	s := &scope{params: paramsOf(spec.Params), workspaces: map[string]bool{}}
	s.give(run.Spec.Params, run.Spec.Workspaces)
	for _, w := range spec.Workspaces {
		s.workspaces[w.Name] = true
	}
	for _, t := range spec.Tasks {
		for _, p := range t.Params {
			if _, there := s.params[p.Name]; !there {
				s.give(crds.Params{p}, nil)
			}
		}
		for _, w := range t.Workspaces {
			s.workspaces[w.Name] = true
		}
		if t.TaskSpec == nil {
			continue
		}
		for name, p := range paramsOf(t.TaskSpec.Params) {
			if _, there := s.params[name]; !there {
				s.params[name] = p
			}
		}
	}
	return s
}
