package taskrun

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

// A claim that was made for a run may be deleted under it. What an attempt has left in
// it is lost then, and no later one is to work on an empty volume as if nothing had
// happened (docs/decisions/0024). As long as no step has begun, there is nothing to lose.

// claimsAnnotation, in the status, says of an attempt that is over that it has begun,
// and may have written to the run's claims. Its steps do not always tell: they may have
// been seen to begin, and their pod be gone, before that could be written.
const (
	claimsAnnotation = "millrace.dev/workspace-claims"
	claimsInUse      = "in-use"
)

// madeClaims are the names of the claims that were there before the pod: those of the
// run itself, and those that its PipelineRun has made for it.
func (d decision) madeClaims() []string {
	names := d.pipelineClaims()
	for _, claim := range d.ownClaims() {
		names = append(names, claim.Name)
	}
	return names
}

func (d decision) pipelineClaims() []string {
	return strings.FieldsFunc(d.Run.Annotations[annotationClaims], func(r rune) bool { return r == ',' })
}

// claimsUsed are the annotations of the status of a run whose attempt has begun.
func (d decision) claimsUsed() map[string]string {
	if len(d.ownClaims()) == 0 {
		return d.Run.Status.Annotations
	}
	return call.Merged(d.Run.Status.Annotations, map[string]string{claimsAnnotation: claimsInUse})
}

// ownClaims are those that the run's pod has of the run itself.
func (d decision) ownClaims() []*corev1.PersistentVolumeClaim {
	spec := d.Run.Status.TaskSpec
	if spec == nil {
		return nil
	}
	w, err := bind(d.Run, spec.Workspaces, runVariables(d.Run, spec), d.config)
	if err != nil {
		return nil
	}
	return w.claims(d.Run)
}

// provide sees to it that the claims are there before the pod is.
func (d decision) provide(claims []*corev1.PersistentVolumeClaim) []Action {
	used := d.Run.Status.Annotations[claimsAnnotation] == claimsInUse
	var actions []Action
	for _, claim := range claims {
		if used {
			actions = append(actions, FindClaim{claim.Name})
			continue
		}
		actions = append(actions, CreateClaim{claim})
	}
	return actions
}

// mounted are the claims of those that the pod mounts. What tells of the others is an
// annotation that a pipeline within a pipeline hands on to all of its runs.
func mounted(pod *corev1.Pod, claims []string) []string {
	return slices.DeleteFunc(claims, func(name string) bool {
		return !slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == name
		})
	})
}

// awaitClaims adds to what is done about a pending pod: a claim that was made for the run
// or its pipeline, and that the scheduler has something against, is looked for, and the
// attempt ends if it is gone. The scheduler alone is not believed: it may not have been
// told of a new claim yet. A claim of somebody else's may be yet to come.
func (d decision) awaitClaims(status crds.TaskRunStatus, p Plan) Plan {
	if d.LostClaim != "" {
		return d.giveUp(status, d.claimLost())
	}
	for _, name := range d.suspects(mounted(d.Pod, d.madeClaims())) {
		p.Actions = append(p.Actions, FindClaim{name})
		p.Requeue = reconcile.Soonest(p.Requeue, inquireEvery)
	}
	return p
}

// suspects are the claims that may be gone: those that the scheduler names. Of one that
// goes while it has no volume yet the scheduler says nothing new, or not for minutes: it
// has said that some claim has none, or it says nothing, since it waits for the volume.
// Then all are suspected of a pod that has waited longer than is usual (seed 1109).
func (d decision) suspects(claims []string) []string {
	complaint := unschedulable(d.Pod)
	waits := d.Pod.Spec.NodeName == "" && (complaint == "" || strings.Contains(complaint, "unbound immediate PersistentVolumeClaims"))
	if waits && !d.now.Before(d.explainAt()) {
		return claims
	}
	return slices.DeleteFunc(claims, func(name string) bool {
		return !strings.Contains(complaint, fmt.Sprintf("persistentvolumeclaim %q", name))
	})
}

func (d decision) claimLost() *refusal {
	of := "this run"
	if slices.Contains(d.pipelineClaims(), d.LostClaim) {
		of = "the pipeline that this run is of"
	}
	return &refusal{crds.TaskRunReasonClaimLost, fmt.Sprintf("the PersistentVolumeClaim %q, which was made for a workspace of %s, has been deleted, and what was in it is lost", d.LostClaim, of)}
}

// unschedulable is why there is no node for the pod, in the scheduler's words.
func unschedulable(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}
