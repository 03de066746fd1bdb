package taskrun

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/crds/validation"
	"millrace/reconcile/resolution"
)

// checkRefs finds what is wrong with steps that refer to StepActions: once those are in
// their place, nobody could tell who said what.
func checkRefs(run *crds.TaskRun, spec *crds.TaskSpec, o validation.Options) *refusal {
	o.Strict = true
	for i := range spec.Steps {
		step, at := &spec.Steps[i], whereTask(run).Child("steps").Index(i)
		if step.Ref == nil {
			continue
		}
		if refused := refuseAll(validation.ReferringStep(step, at, o)); refused != nil {
			return refused
		}
	}
	return nil
}

// source tells where the task of a run comes from, or refuses the run. ref is
// empty for an embedded task.
func source(run *crds.TaskRun, c Config) (ref types.NamespacedName, refused *refusal) {
	task := run.Spec.TaskRef
	if task == nil {
		if run.Spec.TaskSpec == nil {
			return ref, unresolved("taskRun %s not providing TaskRef or TaskSpec", run.Name)
		}
		return ref, nil
	}
	switch {
	case run.Spec.TaskSpec != nil:
		return ref, invalid("spec.taskRef and spec.taskSpec are both given, and a run can have one of them")
	case task.Resolver == resolution.ClusterResolver && task.Name == "":
		ref, err := resolution.Cluster(task.ResolverRef, crds.KindTask, run.Namespace)
		if err == nil {
			err = resolution.Within(c.Namespace, ref)
		}
		if err != nil {
			return ref, unresolved("error requesting remote resource: %v", err)
		}
		return ref, nil
	case foreign(run, c) != nil:
		return ref, nil
	case task.Resolver != "":
		return ref, invalid("spec.taskRef.resolver: %s is not served by this version of the controller: apply the Task to the cluster, and refer to it by name", task.Resolver)
	case len(task.Params) > 0:
		return ref, invalid("spec.taskRef.params belong to a resolver, and none is named; parameters of the task go into spec.params")
	case task.Kind != "" && !strings.EqualFold(task.Kind, crds.KindTask): // Tekton's examples have "task" too
		return ref, unresolved("spec.taskRef.kind: %s is not served: a TaskRun executes a Task", task.Kind)
	case task.Name == "":
		return ref, unresolved("taskRun %s not providing TaskRef or TaskSpec: spec.taskRef has no name", run.Name)
	default:
		return types.NamespacedName{Namespace: run.Namespace, Name: task.Name}, nil
	}
}

func unresolved(format string, args ...any) *refusal {
	return &refusal{reason: crds.TaskRunReasonFailedResolution, message: fmt.Sprintf(format, args...)}
}
