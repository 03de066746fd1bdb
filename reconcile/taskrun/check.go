package taskrun

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/validation"
)

// What can be known to be wrong without a cluster, crds/validation knows: here it is
// asked again, strictly, whether a webhook has asked it before or not.

// options are what the configuration changes about that.
func (c Config) options() validation.Options {
	return validation.Options{ParamEnum: c.ParamEnum, CEL: c.CEL}
}

// maxTold is how many errors the message of a run has room for.
const maxTold = 5

// refuseAll is a refusal for these reasons; nil if there are none.
func refuseAll(errs field.ErrorList) *refusal {
	if len(errs) == 0 {
		return nil
	}
	var told []string
	for _, err := range errs[:min(len(errs), maxTold)] {
		told = append(told, err.Error())
	}
	if more := len(errs) - maxTold; more > 0 {
		told = append(told, fmt.Sprintf("and %d more", more))
	}
	return invalid("%s", strings.Join(told, "; "))
}

// checkTask finds what is wrong with a task whose variables have been replaced.
func checkTask(run *crds.TaskRun, spec *crds.TaskSpec, o validation.Options) *refusal {
	if refused := refuseAll(validation.ResolvedTask(spec, whereTask(run), o)); refused != nil {
		if run.Spec.TaskSpec == nil {
			refused.message = fmt.Sprintf("Task %q: %s", taskName(run), refused.message)
		}
		return refused
	}
	return checkStepResults(spec)
}

// whereTask is where its author has written the task.
func whereTask(run *crds.TaskRun) *field.Path {
	if run.Spec.TaskSpec != nil {
		return field.NewPath("spec", "taskSpec")
	}
	return field.NewPath("spec")
}

// checkRun finds what is wrong with what the run says itself.
func checkRun(run *crds.TaskRun, c Config) *refusal {
	if refused := refuseAll(validation.RunningTaskRun(run, c.options())); refused != nil {
		return refused
	}
	if n := len(taskName(run)); n > maxNameLength { // where a resolver has it from
		return invalid("the name of the task has %d characters and can have %d: it becomes a label of the run and of its pod", n, maxNameLength)
	}
	return nil
}
