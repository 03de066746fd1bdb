package pipelinerun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// An Action is one of the API calls below. Each is safe to repeat.
type Action interface {
	fmt.Stringer
	action()
}

// PatchMetadata adds labels and annotations to the run.
type PatchMetadata struct {
	Labels      map[string]string
	Annotations map[string]string
}

// PatchStatus makes the status of the run this one.
type PatchStatus struct{ Status crds.PipelineRunStatus }

// CreateClaim creates a claim for a workspace of the run, unless it is there.
type CreateClaim struct{ Claim *corev1.PersistentVolumeClaim }

// CreateTaskRun creates the run of a task. One of that name that the run owns is
// the one that was to be created; somebody else's is an answer for
// observation.Refused. So it is with CustomRuns.
type CreateTaskRun struct{ Run *crds.TaskRun }

// CreateCustomRun creates the run of a custom task.
type CreateCustomRun struct{ Run *crds.CustomRun }

// CreatePipelineRun creates the run of a task that is a pipeline.
type CreatePipelineRun struct{ Run *crds.PipelineRun }

// CreateRequest asks a resolver for the pipeline, unless it has been asked.
type CreateRequest struct{ Request *crds.ResolutionRequest }

// CancelChild asks a child that still has that UID and is as it was looked at to stop, by
// its spec.status, and tells it why in spec.statusMessage. One that is gone is no error;
// one that has changed is looked at again, since it may have ended.
type CancelChild struct {
	Kind    string
	Name    string
	UID     types.UID
	Version string
	Message string
	// As is how a PipelineRun is to end; other kinds are cancelled.
	As crds.PipelineRunSpecStatus
}

func (CreateRequest) action()     {}
func (PatchMetadata) action()     {}
func (PatchStatus) action()       {}
func (CreateClaim) action()       {}
func (CreateTaskRun) action()     {}
func (CreateCustomRun) action()   {}
func (CreatePipelineRun) action() {}
func (CancelChild) action()       {}

func (a PatchMetadata) String() string {
	return fmt.Sprintf("patch metadata: labels %v, annotations %v", slices.Sorted(maps.Keys(a.Labels)), slices.Sorted(maps.Keys(a.Annotations)))
}

func (a PatchStatus) String() string {
	c, _ := a.Status.Conditions.Get(crds.ConditionSucceeded)
	return strings.TrimSpace(fmt.Sprintf("patch status: Succeeded %s %s: %s", c.Status, c.Reason, c.Message))
}

func (a CreateRequest) String() string     { return "create ResolutionRequest " + a.Request.Name }
func (a CreateClaim) String() string       { return "create claim " + a.Claim.Name }
func (a CreateTaskRun) String() string     { return "create TaskRun " + a.Run.Name }
func (a CreateCustomRun) String() string   { return "create CustomRun " + a.Run.Name }
func (a CreatePipelineRun) String() string { return "create PipelineRun " + a.Run.Name }

func (a CancelChild) String() string {
	if a.As != "" && a.As != crds.PipelineRunSpecStatusCancelled {
		return fmt.Sprintf("end %s %s by %s, uid %s: %s", a.Kind, a.Name, a.As, a.UID, a.Message)
	}
	return fmt.Sprintf("cancel %s %s, uid %s: %s", a.Kind, a.Name, a.UID, a.Message)
}
