package taskrun

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/crds/validation"
	"millrace/reconcile/variables"
)

// A refusal is why a run cannot go on, final unless a person changes something
// and starts another run. Reason and message become those of the condition.
type refusal struct {
	reason  crds.TaskRunReason
	message string
}

func (r *refusal) Error() string { return string(r.reason) + ": " + r.message }

func invalid(format string, args ...any) *refusal {
	return &refusal{reason: crds.TaskRunReasonFailedValidation, message: fmt.Sprintf(format, args...)}
}

// resolve turns the task of a run into what the run will execute: checked
// against the run, and with its variables replaced. The result is stored in
// status.taskSpec before anything is started, and from then on only that copy is
// read: a Task that is edited or deleted in mid-run changes nothing.
//
// task is the Task of spec.taskRef, and nil for an embedded one; actions are the
// StepActions that its steps refer to.
func resolve(run *crds.TaskRun, task *crds.Task, actions map[string]actionAnswer, c Config) (*crds.TaskSpec, *refusal) {
	spec := taskSpec(run, task)
	if refused := refuseAll(validation.TooMany(spec, whereTask(run))); refused != nil {
		return nil, refused
	}
	if refused := checkRefs(run, spec, c.options()); refused != nil {
		return nil, refused
	}
	if refused := checkRun(run, c); refused != nil {
		return nil, refused
	}
	if refused := checkSpecs(run, spec); refused != nil {
		return nil, refused
	}
	if err := variables.Check(spec.Params, run.Spec.Params); err != nil {
		return nil, invalid("invalid input params for task %s: %v", taskName(run), err)
	}
	if refused := checkExpressions(spec, c); refused != nil {
		return nil, refused
	}
	if refused := checkEnums(spec.Params, run.Spec.Params, c); refused != nil {
		return nil, refused
	}
	v := runVariables(run, spec)
	w, err := newWorkspaces(run, spec, v, c)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if err := w.check(); err != nil {
		return nil, invalid("%v", err)
	}
	v.AttemptLater = run.Spec.Retries > 0
	r := replacement{task: v, shared: contextVariables(run), actions: actions, config: c}
	r.shared.AttemptLater, r.shared.Budget = v.AttemptLater, v.Budget
	resolved, refused := r.replace(spec, w)
	if refused != nil {
		return nil, refused
	}
	if refused := checkTask(run, resolved, c.options()); refused != nil {
		return resolved, refused
	}
	_, refused = forAttempt(run, resolved)
	return resolved, refused
}

// taskSpec is what the author of the task wrote.
func taskSpec(run *crds.TaskRun, task *crds.Task) *crds.TaskSpec {
	if task != nil {
		return &task.Spec
	}
	return run.Spec.TaskSpec
}

// contextVariables are those that depend on nothing but the run.
func contextVariables(run *crds.TaskRun) variables.Set {
	v := variables.New()
	v.Strings["context.taskRun.name"] = run.Name
	v.Strings["context.taskRun.namespace"] = run.Namespace
	v.Strings["context.taskRun.uid"] = string(run.UID)
	v.Strings["context.task.name"] = taskName(run)
	v.Strings["context.task.retry-count"] = strconv.Itoa(attempt(run))
	return v
}

// runVariables are those of the run and the parameters that its task declares;
// the pod template may use these and no others.
func runVariables(run *crds.TaskRun, spec *crds.TaskSpec) variables.Set {
	v := contextVariables(run)
	v.SetParams(variables.Values(spec.Params, run.Spec.Params))
	return v
}

// setPaths makes known where a step finds and leaves files.
func setPaths(v variables.Set, spec *crds.TaskSpec) {
	v.Strings["credentials.path"] = credentialsDir
	for _, result := range spec.Results {
		for _, spelling := range reference.Spellings("results", result.Name) {
			v.Strings[spelling+".path"] = resultsDir + "/" + result.Name
		}
	}
	for i, step := range spec.Steps {
		name := containerName(step, i)
		v.Strings["steps."+name+".exitCode.path"] = stepsDir + "/" + name + "/exitCode"
	}
}

// resultPaths are where a step leaves results of its own.
func resultPaths(container string, results []crds.StepResult) map[string]string {
	paths := map[string]string{}
	for _, result := range results {
		for _, spelling := range reference.Spellings("step.results", result.Name) {
			paths[spelling+".path"] = resultsOfStep(container) + "/" + result.Name
		}
	}
	return paths
}

// A replacement is the variables of one task, and of the StepActions in it, which
// share all but the parameters.
type replacement struct {
	task, shared variables.Set
	actions      map[string]actionAnswer
	config       Config
}

// replace returns the spec with the variables replaced in every field in which
// Tekton replaces them, and with StepActions in the place of references.
func (r replacement) replace(spec *crds.TaskSpec, w workspaces) (*crds.TaskSpec, *refusal) {
	found := &variables.Faults{}
	for _, v := range []*variables.Set{&r.task, &r.shared} {
		setPaths(*v, spec)
		setWorkspaces(*v, w)
		v.Faults = found
	}
	out := *spec
	out.Workspaces = w.declared
	out.DisplayName = r.task.Text(spec.DisplayName)
	out.Steps = slices.Clone(spec.Steps)
	var err error
	for i := range spec.Steps {
		if out.Steps[i], err = r.step(spec.Steps[i], i); err != nil {
			return nil, invalid("step %q %v", stepName(spec.Steps[i], i), err)
		}
	}
	v := r.task
	v.OfSteps = true
	if out.StepTemplate, err = variables.Apply(v, spec.StepTemplate); err != nil {
		return nil, invalid("stepTemplate %v", err)
	}
	out.Sidecars = slices.Clone(spec.Sidecars)
	for i, sidecar := range spec.Sidecars {
		if out.Sidecars[i], err = variables.Apply(r.task.With(ownPaths(r.task, sidecar.Workspaces)), sidecar); err != nil {
			return nil, invalid("sidecar %q %v", sidecar.Name, err)
		}
	}
	if out.Volumes, err = variables.Apply(r.task, spec.Volumes); err != nil {
		return nil, invalid("volumes %v", err)
	}
	if err := r.task.Overspent(); err != nil {
		return nil, invalid("%v", err)
	}
	return &out, refuseFaults(found)
}

func (r replacement) step(step crds.Step, i int) (crds.Step, error) {
	container := containerName(step, i)
	v := r.task.With(ownPaths(r.task, step.Workspaces)).With(resultPaths(container, step.Results))
	v.OfSteps = true
	given, when := step.Params, step.When
	step.Params, step.When = nil, withoutExpressions(when)
	replaced, err := variables.Apply(v, step)
	for j := range replaced.When {
		if err == nil {
			replaced.When[j].CEL, err = v.Expression(when[j].CEL)
		}
	}
	if err != nil || step.Ref == nil {
		replaced.Params = given // for checkTask to refuse
		return replaced, err
	}
	action := r.actions[step.Ref.Name].Action
	if action == nil {
		return step, fmt.Errorf("refers to StepAction %q, which has not been looked for", step.Ref.Name)
	}
	v.TakesResults = true
	values := make(crds.Params, len(given))
	for j, param := range given {
		values[j] = crds.Param{Name: param.Name, Value: v.Param(param.Value)}
	}
	shared := r.shared.With(ownPaths(r.task, step.Workspaces)).With(resultPaths(container, action.Spec.Results))
	shared.OfSteps = true
	if err := checkActionEnums(action.Spec.Params, values, v.Later(), r.config); err != nil {
		return step, fmt.Errorf("and StepAction %q: %w", action.Name, err)
	}
	return inline(replaced, action, values, shared)
}

func refuseFaults(f *variables.Faults) *refusal {
	switch {
	case len(f.Outside) > 0:
		slices.Sort(f.Outside)
		return invalid("non-existent param references:%v", f.Outside)
	case len(f.Isolated) > 0:
		return invalid("variable is not properly isolated: %v: an array can only be a whole element of command or args", f.Isolated)
	case len(f.Misplaced) > 0:
		return invalid("stepResult substitutions are only allowed in env, command and args: %v", f.Misplaced)
	case len(f.Unknown) > 0:
		return invalid("non-existent variable: %v: neither does the task declare it nor the run give it", f.Unknown)
	case len(f.Unserved) > 0:
		return invalid("%s is not served by this version of the controller: leave a result instead of an artifact", strings.Join(f.Unserved, ", "))
	default:
		return nil
	}
}

func stepName(step crds.Step, i int) string {
	return containerName(step, i)[len(stepPrefix):]
}
