package taskrun

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/crds/conversion"
	"millrace/reconcile"
	"millrace/reconcile/resolution"
)

// PodSelector selects the pods of runs. A cache of pods may be narrowed to it.
const PodSelector = labelTaskRun

// Labels and annotations that tkn, dashboards and Tekton's own tests look for.
const (
	labelTaskRun     = "tekton.dev/taskRun"
	labelTaskRunUID  = "tekton.dev/taskRunUID"
	labelTask        = "tekton.dev/task"
	labelPipelineRun = "tekton.dev/pipelineRun"
	labelManagedBy   = "app.kubernetes.io/managed-by"

	annotationRelease     = "pipeline.tekton.dev/release"
	annotationReady       = "tekton.dev/ready"
	annotationOnError     = "pipeline.tekton.dev/pipeline-task-on-error" // of the PipelineRun that made the run
	annotationClaims      = "millrace.dev/pipeline-claims"               // of those that it has made for the run
	annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// staysWith tells annotations of an object that what is made of it does not get: what
// kubectl compares the object with, what it says in another version, and what Tekton's
// Chains and Results note on a run once they are done with it, so that one which had it
// from its Task would be passed over.
func staysWith(annotation string) bool {
	return annotation == annotationLastApplied || conversion.Keeps(annotation) || crds.IsReservedAnnotation(annotation)
}

const (
	stepPrefix    = "step-"
	maxNameLength = reconcile.MaxName
)

// attempt counts from 0; each has a pod of its own.
func attempt(run *crds.TaskRun) int { return len(run.Status.RetriesStatus) }

// podName is the same for every reconcile of one attempt, so that a second pod
// for it cannot be made: the API server refuses the name.
func podName(run *crds.TaskRun) string {
	suffix := "-pod"
	if n := attempt(run); n > 0 {
		suffix += "-retry" + strconv.Itoa(n)
	}
	return reconcile.ChildName(run.Name, suffix)
}

// containerName is the step's container; unnamed steps are numbered.
func containerName(step crds.Step, i int) string {
	if step.Name == "" {
		return fmt.Sprintf("%sunnamed-%d", stepPrefix, i)
	}
	return cutName(stepPrefix, step.Name)
}

// cutName never cuts into the prefix: a name of nothing but dashes would leave less
// than that, and the container would be nobody's. It leaves the prefix alone, which
// is no legal name and is refused as one.
func cutName(prefix, name string) string {
	if room := maxNameLength - len(prefix); len(name) > room {
		name = strings.TrimRight(name[:room], "-")
	}
	return prefix + name
}

// volumeName names the volume of a workspace. Tekton draws it by lot and so
// cannot fill $(workspaces.x.volume) twice alike; here it follows from the run. Ten
// digits, where Tekton has five: with five, one run in 20,000 that has ten
// workspaces would have two that share a name, and always the same ones.
func volumeName(run types.UID, workspace string) string {
	sum := sha256.Sum256([]byte(string(run) + "/" + workspace))
	return "ws-" + hex.EncodeToString(sum[:])[:10]
}

// taskName is what $(context.task.name) and messages call the task.
func taskName(run *crds.TaskRun) string {
	ref := run.Spec.TaskRef
	switch {
	case ref == nil:
		return run.Name
	case ref.Resolver == "":
		return ref.Name
	}
	if key, err := resolution.Cluster(ref.ResolverRef, crds.KindTask, run.Namespace); err == nil && ref.Resolver == resolution.ClusterResolver {
		return key.Name
	}
	if name := run.Labels[labelTask]; name != "" { // of what a resolver has found
		return name
	}
	return run.Name
}

func owner(run *crds.TaskRun) metav1.OwnerReference {
	return reconcile.ControllerReference(run, schema.GroupVersionKind{Group: crds.Group, Version: crds.Version, Kind: crds.KindTaskRun})
}

// objectReference is the object that Kubernetes events are about.
func objectReference(run *crds.TaskRun) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion:      crds.APIVersion,
		Kind:            crds.KindTaskRun,
		Namespace:       run.Namespace,
		Name:            run.Name,
		UID:             run.UID,
		ResourceVersion: run.ResourceVersion,
	}
}
