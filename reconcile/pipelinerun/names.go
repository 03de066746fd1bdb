package pipelinerun

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/crds/conversion"
	"millrace/reconcile"
)

// Labels and annotations that tkn, dashboards and Tekton's own tests look for.
const (
	labelPipeline       = "tekton.dev/pipeline"
	labelPipelineRun    = "tekton.dev/pipelineRun"
	labelPipelineRunUID = "tekton.dev/pipelineRunUID"
	labelPipelineTask   = "tekton.dev/pipelineTask"
	labelMemberOf       = "tekton.dev/memberOf"

	memberOfTasks   = "tasks"
	memberOfFinally = "finally"

	// annotationOnError tells the run of a task that its pipeline ignores its failure.
	annotationOnError     = "pipeline.tekton.dev/pipeline-task-on-error"
	annotationLastApplied = "kubectl.kubernetes.io/last-applied-configuration"
	// annotationMessage is, of a PipelineRun, what spec.statusMessage is of a TaskRun: why
	// the PipelineRun around it has asked it to end.
	annotationMessage = "millrace.dev/status-message"
	// annotationClaims tells a run which claims of its workspaces were made for its
	// pipeline before it: their names, with commas between them.
	annotationClaims = "millrace.dev/pipeline-claims"
)

// staysWith tells annotations of an object that what is made of it does not get: what
// kubectl compares the object with, what it says in another version, and what Tekton's
// Chains and Results note on a run once they are done with it, so that one which had it
// from the start would be passed over.
func staysWith(annotation string) bool {
	return annotation == annotationLastApplied || conversion.Keeps(annotation) || crds.IsReservedAnnotation(annotation)
}

// staysWithRun tells annotations of a run that its children do not get: those, and what
// was said to the run alone.
func staysWithRun(annotation string) bool {
	return staysWith(annotation) || annotation == annotationMessage
}

// childName is the run of a task, or the one of a combination of its matrix. It is
// the same for every reconcile, so that a second run for the same cannot be made: the
// API server refuses the name. A matrix of one combination has no number, as in Tekton.
func childName(run *crds.PipelineRun, task string, combination, combinations int) string {
	suffix := "-" + task
	if combinations > 1 {
		suffix += "-" + strconv.Itoa(combination)
	}
	return reconcile.ChildName(run.Name, suffix)
}

// claimName has Tekton's shape: the template's name, and ten digits. It follows from
// the run, so that making the claim twice is making it once.
func claimName(run types.UID, b crds.WorkspaceBinding) string {
	name := b.VolumeClaimTemplate.Name
	if name == "" {
		name = "pvc"
	}
	sum := sha256.Sum256([]byte(string(run) + "/" + b.Name))
	return name + "-" + hex.EncodeToString(sum[:])[:10]
}

// pipelineName is what labels, $(context.pipeline.name) and messages call the pipeline.
func pipelineName(run *crds.PipelineRun) string {
	if name := run.Labels[labelPipeline]; name != "" && run.HasStarted() {
		return name
	}
	if key, err := pipelineOf(run); err == nil && key.Name != "" {
		return key.Name
	}
	return run.Name
}

func owner(run *crds.PipelineRun) metav1.OwnerReference {
	return reconcile.ControllerReference(run, schema.GroupVersionKind{Group: crds.Group, Version: crds.Version, Kind: crds.KindPipelineRun})
}
