package pipelinerun

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/reconcile"
)

// check finds what is wrong with a run before anything of it is made. Reasons and
// messages are Tekton's, as far as it tells.
func (d *decision) check() *refusal {
	spec := d.Run.Status.PipelineSpec
	for _, check := range []func(*crds.PipelineSpec) *refusal{
		d.checkRun, d.checkTasks, d.checkParams, d.checkWorkspaces, d.checkTaskRunSpecs,
	} {
		if r := check(spec); r != nil {
			return r
		}
	}
	if r := d.load(spec); r != nil {
		return r
	}
	for _, t := range d.tasks {
		for _, check := range []func(*task) *refusal{d.checkReferences, d.checkTask, d.checkMatrix} {
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

func (d *decision) checkRun(*crds.PipelineSpec) *refusal {
	if n := len(d.Run.Name); n > reconcile.MaxName {
		return invalid("metadata.name has %d characters and can have %d: it becomes a label of the children", n, reconcile.MaxName)
	}
	if n := len(pipelineName(d.Run)); n > reconcile.MaxName {
		return invalid("the name of the pipeline has %d characters and can have %d: it becomes a label of the run", n, reconcile.MaxName)
	}
	return d.checkTimeouts()
}

func (d *decision) checkTimeouts() *refusal {
	given := d.Run.Spec.Timeouts
	if given == nil {
		return nil
	}
	l := limitsOf(d.Run, d.config)
	switch {
	case l.pipeline < 0 || given.Tasks != nil && l.tasks < 0 || given.Finally != nil && l.finally < 0:
		return invalid("spec.timeouts: none of them can be negative")
	case l.pipeline == 0:
		return nil // the parts are limited, and the whole is not
	case given.Tasks != nil && l.tasks > l.pipeline:
		return invalid("spec.timeouts.tasks %s should be <= pipeline duration %s", l.tasks, l.pipeline)
	case given.Finally != nil && l.finally > l.pipeline:
		return invalid("spec.timeouts.finally %s should be <= pipeline duration %s", l.finally, l.pipeline)
	case given.Tasks != nil && given.Finally != nil && l.tasks+l.finally > l.pipeline:
		return invalid("spec.timeouts.tasks + spec.timeouts.finally %s should be <= pipeline duration %s", l.tasks+l.finally, l.pipeline)
	default:
		return nil
	}
}

var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

func (d *decision) checkTasks(spec *crds.PipelineSpec) *refusal {
	if len(spec.Tasks) == 0 {
		return d.badSpec("missing field(s): spec.tasks")
	}
	names := map[string]bool{}
	for i, t := range slices.Concat(spec.Tasks, spec.Finally) {
		switch {
		case !label.MatchString(t.Name) || len(t.Name) > reconcile.MaxName:
			return d.badSpec("invalid value %q: pipeline task name must be a valid DNS Label: of at most 63 characters, lower-case letters, digits and '-'", t.Name)
		case names[t.Name]:
			return d.badSpec("expected exactly one, got both: there are two pipeline tasks %q", t.Name)
		case i >= len(spec.Tasks) && len(t.RunAfter) > 0:
			return d.badSpec("no runAfter allowed under spec.finally, final task %s has runAfter specified", t.Name)
		}
		names[t.Name] = true
		if r := d.checkShape(&t); r != nil {
			return r
		}
	}
	return nil
}

// checkShape looks at one task by itself.
func (d *decision) checkShape(t *crds.PipelineTask) *refusal {
	switch {
	case t.PipelineRef != nil || t.PipelineSpec != nil:
		return d.badSpec("pipeline task %q: pipelineRef and pipelineSpec are not served by this version of the controller: make the tasks of that pipeline tasks of this one", t.Name)
	case t.TaskRef != nil && t.TaskSpec != nil:
		return d.badSpec("expected exactly one, got both: pipeline task %q has taskRef and taskSpec", t.Name)
	case t.TaskRef == nil && t.TaskSpec == nil:
		return d.badSpec("expected exactly one, got neither: pipeline task %q has no taskRef and no taskSpec", t.Name)
	case t.TaskRef != nil && t.TaskRef.Name == "" && t.TaskRef.Resolver == "" && !custom(t):
		return d.badSpec("missing field(s): taskRef.name of pipeline task %q", t.Name)
	case t.TaskRef != nil && t.TaskRef.Resolver != "" && !d.config.mayResolve(t.TaskRef.Resolver):
		return d.badSpec("pipeline task %q: taskRef.resolver: %s is not allowed here: apply the Task to the cluster, and refer to it by name", t.Name, t.TaskRef.Resolver)
	case t.TaskSpec != nil && (t.TaskSpec.APIVersion == "") != (t.TaskSpec.Kind == ""):
		return d.badSpec("pipeline task %q: a custom task spec must have both taskSpec.apiVersion and taskSpec.kind", t.Name)
	case t.OnError != "" && t.OnError != crds.PipelineTaskContinue && t.OnError != crds.PipelineTaskStopAndFail:
		return d.badSpec("PipelineTask OnError must be either \"continue\" or \"stopAndFail\": pipeline task %q has %q", t.Name, t.OnError)
	case t.OnError == crds.PipelineTaskContinue && t.Retries > 0:
		return d.badSpec("PipelineTask OnError cannot be set to \"continue\" when Retries is greater than 0: pipeline task %q", t.Name)
	}
	return d.checkWhen(t)
}

// maxExpressions is how many conditions in CEL a pipeline's task can have: each takes
// its time, whenever the task is looked at.
const maxExpressions = 25

func (d *decision) checkWhen(t *crds.PipelineTask) *refusal {
	expressions := 0
	for _, w := range t.When {
		switch {
		case w.CEL == "" && w.Operator != crds.WhenIn && w.Operator != crds.WhenNotIn:
			return d.badSpec("pipeline task %q: when: operator %q is not recognized. valid operators: in,notin", t.Name, w.Operator)
		case w.CEL == "" && len(w.Values) == 0:
			return d.badSpec("pipeline task %q: when: expecting non-empty values field", t.Name)
		case w.CEL == "":
			continue
		case !d.config.CEL:
			return d.badSpec("pipeline task %q: feature flag enable-cel-in-whenexpression should be set to true to use CEL: %s in WhenExpression", t.Name, w.CEL)
		case w.Input != "" || w.Operator != "" || len(w.Values) > 0:
			return d.badSpec("pipeline task %q: when: cel and input, operator or values cannot be used together", t.Name)
		}
		if expressions++; expressions > maxExpressions {
			return d.badSpec("pipeline task %q has more than %d conditions in CEL", t.Name, maxExpressions)
		}
	}
	return nil
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
	if name := twice(d.Run.Spec.Workspaces, func(b crds.WorkspaceBinding) string { return b.Name }); name != "" {
		return invalid("expected exactly one, got both: spec.workspaces has two of the name %q", name)
	}
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

// checkReferences looks at what a task refers to, beyond the names of other tasks,
// which the graph has found.
func (d *decision) checkReferences(t *task) *refusal {
	for _, r := range slices.Concat(t.Refs, t.WhenRefs) {
		from := d.task(r.Task)
		switch {
		case r.Kind == reference.State && !t.Final:
			return d.badSpec("pipeline task %q can not refer to execution status of any other pipeline task or aggregate status of tasks: $(%s) is for finally", t.Name, r.Name)
		case r.Kind == reference.State && r.Task != "" && (from == nil || from.Final):
			return d.badSpec("pipeline task %q: there is no task %q of the graph, whose state $(%s) is", t.Name, r.Task, r.Name)
		case r.Kind == reference.State:
			continue
		case r.Kind == reference.Output:
			return d.badSpec("pipeline task %q: artifacts ($(%s)) are not served by this version of the controller: leave a result instead", t.Name, r.Name)
		case (r.Kind == reference.MatrixLength || r.Kind == reference.ResultLength) && from.Matrix == nil:
			return d.badSpec("pipeline task %q: $(%s): task %q has no matrix", t.Name, r.Name, r.Task)
		case r.Kind == reference.Result && from.Matrix != nil && !r.Whole:
			return d.badSpec("A matrixed pipelineTask can only be consumed in aggregate using [*] notation, but is currently set to %s", r.Name)
		case !d.leaves(from, r.Result):
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
	if t.Matrix == nil {
		return nil
	}
	for _, param := range t.Matrix.Params {
		if slices.ContainsFunc(t.Params, func(p crds.Param) bool { return p.Name == param.Name }) {
			return d.badSpec("expected exactly one, got both: pipeline task %q has param %q in matrix and in params", t.Name, param.Name)
		}
	}
	for _, r := range t.Refs {
		if r.Task != "" {
			return nil
		}
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
			case r != nil || one.Kind != reference.Result:
			case from == nil:
				r = refused(crds.PipelineRunReasonInvalidPipelineResultReference, "invalid pipeline result reference: pipeline result %q refers to task %q, which is not in the pipeline", declared.Name, one.Task)
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

// twice is a name that two of a list have; empty if none.
func twice[T any](list []T, name func(T) string) string {
	seen := make(map[string]bool, len(list))
	for _, one := range list {
		if seen[name(one)] {
			return name(one)
		}
		seen[name(one)] = true
	}
	return ""
}

func hasVariables(text string) bool { return strings.Contains(text, "$(") }
