package taskrun

import (
	"fmt"
	"slices"
	"strconv"

	"millrace/crds"
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
// task is the Task of spec.taskRef, and nil for an embedded one.
func resolve(run *crds.TaskRun, task *crds.Task) (*crds.TaskSpec, *refusal) {
	spec := run.Spec.TaskSpec
	if task != nil {
		spec = &task.Spec
	}
	if refused := unserved(run, spec); refused != nil {
		return nil, refused
	}
	if refused := checkRun(run); refused != nil {
		return nil, refused
	}
	if err := checkParams(spec.Params, run.Spec.Params); err != nil {
		return nil, invalid("invalid input params for task %s: %v", taskName(run), err)
	}
	v := runVariables(run, spec)
	w, err := newWorkspaces(run, spec, v)
	if err != nil {
		return nil, invalid("%v", err)
	}
	if err := w.check(); err != nil {
		return nil, invalid("%v", err)
	}
	resolved, refused := replace(spec, v, w)
	if refused != nil {
		return nil, refused
	}
	return resolved, checkSteps(resolved)
}

// checkRun finds what would otherwise be reported about the pod.
func checkRun(run *crds.TaskRun) *refusal {
	if n := len(run.Name); n > maxNameLength {
		return invalid("metadata.name has %d characters and can have %d: it becomes a label of the pod", n, maxNameLength)
	}
	if n := len(taskName(run)); n > maxNameLength {
		return invalid("the name of the task has %d characters and can have %d: it becomes a label of the run and of its pod", n, maxNameLength)
	}
	if t := run.Spec.Timeout; t != nil && t.Duration < 0 {
		return invalid("spec.timeout %s is negative", t.Duration)
	}
	return nil
}

// runVariables are those that depend on nothing but the run and the parameters
// that its task declares; the pod template may use these and no others.
func runVariables(run *crds.TaskRun, spec *crds.TaskSpec) variables {
	v := newVariables()
	v.setParams(paramValues(spec.Params, run.Spec.Params))
	v.strings["context.taskRun.name"] = run.Name
	v.strings["context.taskRun.namespace"] = run.Namespace
	v.strings["context.taskRun.uid"] = string(run.UID)
	v.strings["context.task.name"] = taskName(run)
	v.strings["context.task.retry-count"] = strconv.Itoa(attempt(run))
	return v
}

// setPaths makes known where a step finds and leaves files.
func (v variables) setPaths(spec *crds.TaskSpec) {
	v.strings["credentials.path"] = credentialsDir
	for _, result := range spec.Results {
		for _, reference := range spellings("results", result.Name) {
			v.strings[reference+".path"] = resultsDir + "/" + result.Name
		}
	}
	for i, step := range spec.Steps {
		name := containerName(step, i)
		v.strings["steps."+name+".exitCode.path"] = stepsDir + "/" + name + "/exitCode"
	}
}

// replace returns the spec with the variables replaced in every field in which
// Tekton replaces them.
func replace(spec *crds.TaskSpec, v variables, w workspaces) (*crds.TaskSpec, *refusal) {
	v.setPaths(spec)
	v.setWorkspaces(w)
	v.faults = &faults{}
	out := *spec
	out.Workspaces = w.declared
	out.DisplayName = v.text(spec.DisplayName)
	out.Steps = slices.Clone(spec.Steps)
	var err error
	for i, step := range spec.Steps {
		if out.Steps[i], err = apply(v.with(v.ownPaths(step.Workspaces)), step); err != nil {
			return nil, invalid("step %q %v", stepName(step, i), err)
		}
	}
	if out.StepTemplate, err = apply(v, spec.StepTemplate); err != nil {
		return nil, invalid("stepTemplate %v", err)
	}
	if out.Volumes, err = apply(v, spec.Volumes); err != nil {
		return nil, invalid("volumes %v", err)
	}
	return &out, v.faults.refusal()
}

func (f *faults) refusal() *refusal {
	switch {
	case len(f.outside) > 0:
		slices.Sort(f.outside)
		return invalid("non-existent param references:%v", f.outside)
	case len(f.isolated) > 0:
		return invalid("variable is not properly isolated: %v: an array can only be a whole element of command or args", f.isolated)
	case len(f.unknown) > 0:
		return invalid("non-existent variable: %v: neither does the task declare it nor the run give it", f.unknown)
	default:
		return nil
	}
}

func stepName(step crds.Step, i int) string {
	return containerName(step, i)[len(stepPrefix):]
}
