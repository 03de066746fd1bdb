package taskrun

import (
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/reconcile"
	"millrace/reconcile/call"
)

// refusedPod plans for a pod that the server would not create. What may change
// without the run being changed is waited for, with the reason told: quota, a
// LimitRange, a webhook, a ServiceAccount that is not there yet, a namespace that
// is going away. A pod that is wrong in itself ends the run.
func (d decision) refusedPod(status crds.TaskRunStatus) Plan {
	err := d.Refused
	switch {
	case d.MayFallBack && d.Mode == ModeImageVolume && refusesImageVolume(err):
		return Plan{Why: "the server knows no image volumes", Actions: []Action{FallBack{err.Error()}}, Requeue: time.Millisecond}
	case isQuotaConflict(err):
		p := d.write("the quota is being updated", d.set(status, ongoing(crds.TaskRunReasonPending, "tried to create pod, but it failed with ResourceQuotaConflictError")))
		p.Requeue = time.Second
		return p
	case isQuotaExceeded(err):
		return d.awaitQuota(status, err)
	case isPodSecurity(err):
		return d.refuse(&refusal{crds.TaskRunReasonPodAdmissionFailed, err.Error()})
	case call.MayBeLifted(err):
		p := d.write("the pod is refused for now", d.set(status, ongoing(crds.TaskRunReasonPending, fmt.Sprintf("the pod is refused, and will be tried again: %v", err))))
		p.Requeue = reconcile.Soonest(d.untilTimeout(status), d.soon())
		return p
	default:
		return d.refuse(&refusal{crds.TaskRunReasonPodCreationFailed, creationFailed(d.Run, err)})
	}
}

// awaitQuota takes the start back: a run that waits for its turn does not use up
// its time. It is the one thing for which a start time ever changes, and it
// happens only while the attempt has had no pod.
func (d decision) awaitQuota(status crds.TaskRunStatus, err error) Plan {
	status.StartTime = nil
	status.PodName = ""
	p := d.write("the pod exceeds the quota", d.set(status, ongoing(crds.TaskRunReasonExceededResourceQuota, fmt.Sprintf("TaskRun Pod exceeded available resources: %v", err))))
	p.Requeue = d.soon()
	return p
}

func creationFailed(run *crds.TaskRun, err error) string {
	maybe := "invalid TaskSpec"
	if run.Spec.TaskRef != nil {
		maybe = fmt.Sprintf("missing or invalid Task %s/%s", run.Namespace, run.Spec.TaskRef.Name)
	}
	return fmt.Sprintf("failed to create task run pod %q: %v. Maybe %s", run.Name, err, maybe)
}

// isQuotaConflict is kubernetes issue 67761: two pods were counted at once.
func isQuotaConflict(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	s := status.Status()
	return s.Reason == metav1.StatusReasonConflict && s.Details != nil && s.Details.Kind == "resourcequotas"
}

func isQuotaExceeded(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

// isPodSecurity is a refusal by a profile that the pod will never meet.
func isPodSecurity(err error) bool {
	return apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), "violates PodSecurity") || strings.Contains(err.Error(), "security context constraint"))
}
