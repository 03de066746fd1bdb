package taskrun

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/resolution"
)

// unserved refuses what this version cannot execute, by its name. To pass over a
// field in silence would be worse: a task without its sidecar, or a step whose
// condition nobody looked at, does something that its author never asked for.
func unserved(run *crds.TaskRun, spec *crds.TaskSpec) *refusal {
	features := unservedOfRun(run.Spec)
	for i, step := range spec.Steps {
		features = append(features, unservedOfStep(step, fmt.Sprintf("steps[%s]", stepName(step, i)))...)
	}
	for _, feature := range features {
		if feature.used {
			return invalid("%s is not served by this version of the controller: %s", feature.field, feature.instead)
		}
	}
	return nil
}

type feature struct {
	used    bool
	field   string
	instead string
}

func unservedOfRun(spec crds.TaskRunSpec) []feature {
	return []feature{
		{spec.Debug != nil, "spec.debug", "leave it out"},
	}
}

func unservedOfStep(step crds.Step, field string) []feature {
	var features []feature
	if step.Ref != nil {
		features = append(features, feature{step.Ref.Resolver != "", field + ".ref.resolver: " + step.Ref.Resolver, "apply the StepAction to the cluster, and refer to it by name"})
	}
	return features
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
