package pipelinerun

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
	"millrace/crds/validation"
	"millrace/reconcile"
)

// check finds what is wrong with a run before anything of it is made: by the rules of
// admission, which may not have run, and then by what only the run knows. Reasons are
// Tekton's, as far as it tells.
func (d *decision) check() *refusal {
	spec := d.Run.Status.PipelineSpec
	for _, check := range []func(*crds.PipelineSpec) *refusal{
		d.checkRun, d.load, d.checkSpec, d.checkParams, d.checkWorkspaces, d.checkTaskRunSpecs,
	} {
		if r := check(spec); r != nil {
			return r
		}
	}
	for _, t := range d.tasks {
		for _, check := range []func(*task) *refusal{d.checkReferences, d.checkOnError, d.checkTask, d.checkMatrix} {
			if r := check(t); r != nil {
				return r
			}
		}
	}
	return d.checkResults(spec)
}

func (d *decision) key() string { return d.Run.Namespace + "/" + d.Run.Name }

// of names the pipeline in messages.
func (d *decision) pipelineKey() string { return d.Run.Namespace + "/" + pipelineName(d.Run) }

func (d *decision) badSpec(format string, args ...any) *refusal {
	return invalid("Pipeline %s can't be Run; it has an invalid spec: %s", d.pipelineKey(), fmt.Sprintf(format, args...))
}

func (d *decision) invalidGraph(r *refusal) *refusal {
	return refused(r.reason, "PipelineRun %s's Pipeline DAG is invalid for finally or tasks: %s", d.key(), r.message)
}

// rules are those of admission, as this run's configuration has them.
func (d *decision) rules() validation.Options {
	return validation.Options{
		Strict: true, Alpha: d.config.Alpha, ParamEnum: d.config.ParamEnum, CEL: d.config.CEL, MaxMatrix: d.config.MaxMatrix,
		Defaults: defaulting.Defaults{Timeout: d.config.DefaultTimeout},
	}
}

func (d *decision) checkRun(*crds.PipelineSpec) *refusal {
	if errs := validation.RunningPipelineRun(d.Run, d.rules()); len(errs) > 0 {
		return invalid("PipelineRun %s can't be Run: %s", d.key(), words(errs))
	}
	if n := len(pipelineName(d.Run)); n > reconcile.MaxName {
		return invalid("the name of the pipeline has %d characters and can have %d: it becomes a label of the run", n, reconcile.MaxName)
	}
	return nil
}

func (d *decision) checkSpec(spec *crds.PipelineSpec) *refusal {
	if errs, _ := validation.PipelineSpec(spec, field.NewPath("spec"), d.rules()); len(errs) > 0 {
		return d.badSpec("%s", words(errs))
	}
	for _, t := range d.tasks {
		if t.TaskRef != nil && t.TaskRef.Resolver != "" && !d.config.mayResolve(t.TaskRef.Resolver) {
			return d.badSpec("pipeline task %q: taskRef.resolver: %s is not allowed here: apply the Task to the cluster, and refer to it by name", t.Name, t.TaskRef.Resolver)
		}
		if r := d.checkNested(t.PipelineTask); r != nil {
			return r
		}
	}
	return nil
}

// words are the first of what is wrong: who has corrected these sees the others.
func words(errs field.ErrorList) string {
	const most = 5
	var all []string
	for _, err := range errs[:min(len(errs), most)] {
		all = append(all, err.Error())
	}
	if more := len(errs) - most; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

func (d *decision) checkTaskRunSpecs(spec *crds.PipelineSpec) *refusal {
	named := keyed(slices.Concat(spec.Tasks, spec.Finally), func(t crds.PipelineTask) string { return t.Name })
	for _, one := range d.Run.Spec.TaskRunSpecs {
		if _, ok := named[one.PipelineTaskName]; !ok {
			return refused(crds.PipelineRunReasonInvalidTaskRunSpec, "PipelineRun %s doesn't define taskRunSpecs correctly: PipelineRun's taskrunSpecs defined wrong taskName: %q, does not exist in Pipeline", d.key(), one.PipelineTaskName)
		}
	}
	return nil
}

func (d *decision) checkWorkspaces(spec *crds.PipelineSpec) *refusal {
	for _, w := range spec.Workspaces {
		if _, bound := d.bindingOf(w.Name); !bound && !w.Optional {
			return refused(crds.PipelineRunReasonInvalidWorkspaceBinding, "PipelineRun %s doesn't bind Pipeline %s's Workspaces correctly: pipeline requires workspace with name %q be provided by pipelinerun", d.key(), d.pipelineKey(), w.Name)
		}
	}
	all := declared(spec)
	for _, t := range slices.Concat(spec.Tasks, spec.Finally) {
		for _, w := range t.Workspaces {
			_, declared := all[workspaceOf(w)]
			_, bound := d.bindingOf(workspaceOf(w))
			if !declared && !bound {
				return d.badSpec("pipeline task %q expects workspace with name %q but none exists in pipeline spec", t.Name, workspaceOf(w))
			}
		}
	}
	return nil
}

// checkReferences looks at what tasks of the cluster leave: of those that are given in
// the pipeline it is known, too, and of others nobody knows.
func (d *decision) checkReferences(t *task) *refusal {
	for _, r := range slices.Concat(t.Refs, t.WhenRefs) {
		if r.Kind == reference.Result && !d.leaves(d.task(r.Task), r.Result) {
			return refused(crds.PipelineRunReasonInvalidTaskResultReference, "invalid result reference in pipeline task %q: %q is not a result of pipeline task %q", t.Name, r.Result, r.Task)
		}
	}
	return nil
}

// leaves tells whether a task declares the result; of one whose spec nobody has seen,
// it may.
func (d *decision) leaves(t *task, result string) bool {
	spec := d.specOfTask(t)
	return spec == nil || result == "" || slices.ContainsFunc(spec.Results, func(r crds.TaskResult) bool { return r.Name == result })
}

// specOfTask is what the task is to do; nil for one that is somebody else's to run, or
// that a TaskRun is still to fetch.
func (d *decision) specOfTask(t *task) *crds.TaskSpec {
	if t.TaskSpec != nil && !custom(t.PipelineTask) {
		return &t.TaskSpec.TaskSpec
	}
	return d.Tasks[localTask(t.PipelineTask)].Spec
}

func (d *decision) checkTask(t *task) *refusal {
	if name := localTask(t.PipelineTask); name != "" {
		if none := d.Tasks[name].None; none != nil {
			return refused(crds.PipelineRunReasonCouldntGetTask, "Pipeline %s can't be Run; it contains Tasks that don't exist: Couldn't retrieve Task %q: %v", d.pipelineKey(), name, none)
		}
	}
	spec := d.specOfTask(t)
	if spec == nil {
		return nil
	}
	if r := d.checkOptional(t, spec); r != nil {
		return r
	}
	if missing := d.missingParams(t, spec); len(missing) > 0 {
		return invalid("Validation failed for pipelinerun %s with error invalid input params for task %s: missing values for these params which have no default values: %s", d.Run.Name, t.Name, missing)
	}
	return nil
}

func declared(spec *crds.PipelineSpec) map[string]crds.PipelineWorkspaceDeclaration {
	return keyed(spec.Workspaces, func(w crds.PipelineWorkspaceDeclaration) string { return w.Name })
}

// checkOptional refuses to leave out what a task needs.
func (d *decision) checkOptional(t *task, spec *crds.TaskSpec) *refusal {
	if d.declared == nil {
		d.declared = declared(d.spec)
	}
	asked := keyed(spec.Workspaces, func(w crds.WorkspaceDeclaration) string { return w.Name })
	for _, w := range t.Workspaces {
		own, ok := asked[w.Name]
		if d.declared[workspaceOf(w)].Optional && ok && !own.Optional {
			return refused(crds.PipelineRunReasonRequiredWorkspaceMarkedOptional, "Optional workspace not supported by task: pipeline workspace %q is marked optional but pipeline task %q requires it be provided", workspaceOf(w), t.Name)
		}
	}
	return nil
}

func (d *decision) missingParams(t *task, spec *crds.TaskSpec) []string {
	given := map[string]bool{}
	for _, param := range t.Params {
		given[param.Name] = true
	}
	if t.Matrix != nil {
		for _, param := range t.Matrix.Params {
			given[param.Name] = true
		}
		for _, include := range t.Matrix.Include {
			for _, param := range include.Params {
				given[param.Name] = true
			}
		}
	}
	var missing []string
	for _, param := range spec.Params {
		_, fromPipeline := d.values[param.Name]
		if param.Default == nil && !given[param.Name] && !(fromPipeline && t.TaskSpec != nil) {
			missing = append(missing, param.Name)
		}
	}
	return missing
}

// checkMatrix counts the combinations, where they do not depend on results.
func (d *decision) checkMatrix(t *task) *refusal {
	if t.Matrix == nil || t.DynamicMatrix {
		return nil
	}
	_, r := combinations(d.of(t), t, d.config.maxMatrix())
	return r
}

// checkResults looks at what the pipeline is to leave.
func (d *decision) checkResults(spec *crds.PipelineSpec) *refusal {
	for _, declared := range spec.Results {
		var r *refusal
		referencesOfValue(ofTasks(declared.Value), func(one reference.Task) {
			from := d.task(one.Task)
			switch {
			case r != nil || one.Kind != reference.Result || from == nil:
			case !d.leaves(from, one.Result):
				r = refused(crds.PipelineRunReasonInvalidPipelineResultReference, "invalid pipeline result reference: %q is not a result of pipeline task %q", one.Result, one.Task)
			}
		})
		if r != nil {
			return r
		}
	}
	return nil
}

func hasVariables(text string) bool { return strings.Contains(text, "$(") }
