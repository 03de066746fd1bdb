package taskrun

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// An Action is one of the API calls below.
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
type PatchStatus struct{ Status crds.TaskRunStatus }

// CreatePod creates the pod of the attempt.
type CreatePod struct{ Pod *corev1.Pod }

// CreateClaim creates a claim for a workspace of the run.
type CreateClaim struct{ Claim *corev1.PersistentVolumeClaim }

// FindClaim sees to it that a claim that was made for the run is there yet.
type FindClaim struct{ Name string }

// CreateRequest asks a resolver for the task, unless it has been asked.
type CreateRequest struct{ Request *crds.ResolutionRequest }

// DeletePod deletes a pod that still has that UID, and that resource version unless it
// is empty: one that has changed is looked at again.
type DeletePod struct {
	Name    string
	UID     types.UID
	Version string
}

// StopPod ends the containers of a pod that still has that UID, and leaves the
// pod, with its logs, where it is.
type StopPod struct {
	Name string
	UID  types.UID
}

// FallBack has new pods get the entrypoint by an init container for a while.
type FallBack struct{ Because string }

func (PatchMetadata) action() {}
func (PatchStatus) action()   {}
func (CreatePod) action()     {}
func (CreateClaim) action()   {}
func (FindClaim) action()     {}
func (CreateRequest) action() {}
func (DeletePod) action()     {}
func (StopPod) action()       {}
func (FallBack) action()      {}

func (a PatchMetadata) String() string {
	return fmt.Sprintf("patch metadata: labels %v, annotations %v", slices.Sorted(maps.Keys(a.Labels)), slices.Sorted(maps.Keys(a.Annotations)))
}

func (a PatchStatus) String() string {
	c, _ := a.Status.Conditions.Get(crds.ConditionSucceeded)
	return strings.TrimSpace(fmt.Sprintf("patch status: Succeeded %s %s: %s", c.Status, c.Reason, c.Message))
}

func (a CreatePod) String() string {
	return fmt.Sprintf("create pod %s with %d containers", a.Pod.Name, len(a.Pod.Spec.Containers))
}

func (a CreateRequest) String() string { return "create ResolutionRequest " + a.Request.Name }

func (a CreateClaim) String() string { return "create claim " + a.Claim.Name }

func (a FindClaim) String() string { return "look for claim " + a.Name }

func (a DeletePod) String() string { return fmt.Sprintf("delete pod %s, uid %s", a.Name, a.UID) }
func (a StopPod) String() string   { return fmt.Sprintf("stop pod %s, uid %s", a.Name, a.UID) }
func (a FallBack) String() string  { return "fall back to the init container: " + a.Because }
