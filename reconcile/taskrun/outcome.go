package taskrun

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

const (
	oomKilled   = "OOMKilled"
	podEvicted  = "Evicted"
	stepTimeout = "TimeoutExceeded"
	stepUntold  = "NextStepNotTold"
)

// complete tells whether nothing more can come of the pod's steps.
func complete(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	if pod.Status.Phase != corev1.PodRunning {
		return false
	}
	return allEnded(pod) && collected(pod) || stuckBehind(pod) != ""
}

func allEnded(pod *corev1.Pod) bool {
	statuses := stepStatuses(pod)
	for _, status := range statuses {
		if status.State.Terminated == nil {
			return false
		}
	}
	return len(statuses) > 0 && len(statuses) == countSteps(pod)
}

// stuckBehind names a step that has failed without its entrypoint having told so:
// killed from outside (exit 137, reason Error), never started (StartError), or on a
// node whose disk is full or read-only.
// Then nobody has written the file that the next step waits for, and it would
// wait until the time-out: Tekton's issues 10371 and 3330.
func stuckBehind(pod *corev1.Pod) string {
	for _, status := range stepStatuses(pod) {
		terminated := status.State.Terminated
		if terminated == nil || terminated.ExitCode == 0 {
			continue
		}
		if told := readReport(terminated.Message); told.startedAt == nil || told.reason == stepUntold {
			return status.Name
		}
	}
	return ""
}

// isPending is also true of a pod that the kubelet has not reported on. A pod
// stays so while any of its containers has not started, though others run.
func isPending(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending || pod.Status.Phase == ""
}

// alive tells whether a container of the pod runs or may yet run that does not end
// by itself when the steps have, and nobody has seen to that it stops.
func alive(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	stopped := pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds <= stopDeadline
	return !ended && !stopped && pod.DeletionTimestamp == nil && (!allEnded(pod) || strangerRuns(pod))
}

// strangerRuns tells of a container that is neither a step nor a sidecar of ours,
// and that would keep the pod running: a webhook has put it there.
func strangerRuns(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool {
		return !isStep(s.Name) && s.State.Running != nil
	})
}

// stopDeadline in a pod's activeDeadlineSeconds means: end now.
const stopDeadline = 1

// failed tells whether a complete pod fails its run. One whose steps have all
// ended well does not, whatever became of it afterwards.
func failed(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodFailed && !allEnded(pod) {
		return true
	}
	for _, status := range stepStatuses(pod) {
		if stepFailed(status.State.Terminated) {
			return true
		}
	}
	return false
}

// stepFailed counts a step that lost a child to the out-of-memory killer as
// failed even if it then went on to end well: what it made cannot be trusted.
func stepFailed(terminated *corev1.ContainerStateTerminated) bool {
	return terminated != nil && (terminated.ExitCode != 0 || terminated.Reason == oomKilled)
}

// finishedAt is when the last step ended, or the zero time where that is not known.
func finishedAt(pod *corev1.Pod) time.Time {
	var last time.Time
	for _, status := range stepStatuses(pod) {
		if terminated := status.State.Terminated; terminated != nil && terminated.FinishedAt.After(last) {
			last = terminated.FinishedAt.Time
		}
	}
	return last
}

// outcome is the condition of a run whose pod is complete.
func outcome(pod *corev1.Pod) crds.Condition {
	if !failed(pod) {
		return crds.Condition{
			Type:    crds.ConditionSucceeded,
			Status:  corev1.ConditionTrue,
			Reason:  string(crds.TaskRunReasonSuccessful),
			Message: "All Steps have completed executing",
		}
	}
	return failure(cause(pod))
}

func failure(reason crds.TaskRunReason, message string) crds.Condition {
	return crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionFalse, Reason: string(reason), Message: shorten(message)}
}

func ongoing(reason crds.TaskRunReason, message string) crds.Condition {
	return crds.Condition{Type: crds.ConditionSucceeded, Status: corev1.ConditionUnknown, Reason: string(reason), Message: shorten(message)}
}

// maxConditionMessage is more than a person reads. Messages go into the status, an event
// and tables, and what they cite (every unknown variable of a script, the whole
// value that the server finds invalid) may be as large as the run itself.
const maxConditionMessage = 4 << 10

func shorten(message string) string {
	if len(message) <= maxConditionMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxConditionMessage], "") + " (and more)"
}

// cause finds why a pod failed: what happened to the whole pod, then to an init
// container, then to a step, then whatever the kubelet says. Reason and message
// are always about the same container.
func cause(pod *corev1.Pod) (crds.TaskRunReason, string) {
	if pod.Status.Reason == podEvicted {
		return crds.TaskRunReasonPodEvicted, pod.Status.Message
	}
	if message := deletedUnder(pod); message != "" {
		return crds.TaskRunReasonPodDeleted, message
	}
	if reason, message, ok := blame(initStatuses(pod), crds.TaskRunReasonInitContainerOOM, crds.TaskRunReasonInitContainerFailed); ok {
		return reason, "init container failed, " + message
	}
	if reason, message, ok := blame(stepStatuses(pod), crds.TaskRunReasonStepOOM, crds.TaskRunReasonStepFailed); ok {
		return reason, message + sidecarTrouble(pod)
	}
	if pod.Status.Message != "" {
		return crds.TaskRunReasonFailed, pod.Status.Message
	}
	return crds.TaskRunReasonFailed, "the pod failed for a reason that neither it nor its containers tell"
}

// initStatuses leaves out init containers that go on beside the steps (native
// sidecars): that they end with an error when they are stopped means nothing.
func initStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Spec.InitContainers {
		if goesOn(container) {
			continue
		}
		if status, ok := statusOf(pod.Status.InitContainerStatuses, container.Name); ok {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

// blame takes the first container that ran out of memory, else the first that failed.
func blame(statuses []corev1.ContainerStatus, oom, failed crds.TaskRunReason) (crds.TaskRunReason, string, bool) {
	for _, status := range statuses {
		if t := status.State.Terminated; t != nil && t.Reason == oomKilled {
			return oom, exitMessage(status), true
		}
	}
	for _, status := range statuses {
		if stepFailed(status.State.Terminated) {
			return failed, exitMessage(status), true
		}
	}
	return "", "", false
}

func exitMessage(status corev1.ContainerStatus) string {
	terminated := status.State.Terminated
	told := readReport(terminated.Message)
	if told.reason == stepTimeout {
		return fmt.Sprintf("%q exited because the step exceeded the specified timeout limit", status.Name)
	}
	message := fmt.Sprintf("%q exited with code %d: %s", status.Name, terminated.ExitCode, terminated.Reason)
	if told.reason == stepUntold {
		message += ": it could not tell the next step that it has ended; its log says why (a full disk?)"
	}
	// A container that could not start has no log; its message is all there is.
	if !hasRun(terminated) && told.visible != "" {
		message += ": " + strings.TrimSpace(told.visible)
	}
	return message
}

// deletedUnder says that somebody had the pod deleted while it had steps to run;
// empty if nobody had, or if a step had failed before.
func deletedUnder(pod *corev1.Pod) string {
	at, disrupted := disruption(pod)
	if at.IsZero() {
		return ""
	}
	for _, status := range stepStatuses(pod) {
		if t := status.State.Terminated; stepFailed(t) && t.FinishedAt.Time.Before(at) {
			return ""
		}
	}
	message := fmt.Sprintf("pod %q was deleted before its steps had ended", pod.Name)
	if disrupted != "" {
		message += ": " + disrupted
	}
	return message
}

// disruption is when the deletion of the pod was asked for, and why if it was
// not a person but the cluster (a drain, a preemption, a lost node).
func disruption(pod *corev1.Pod) (at time.Time, why string) {
	if pod.DeletionTimestamp == nil {
		return time.Time{}, ""
	}
	at = pod.DeletionTimestamp.Time
	if grace := pod.DeletionGracePeriodSeconds; grace != nil {
		at = at.Add(-time.Duration(*grace) * time.Second)
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			why = strings.TrimSuffix(condition.Reason+": "+condition.Message, ": ")
		}
	}
	return at, why
}

// ignoredByPipeline is a failure of the pod in the words for a run whose pipeline goes
// on regardless, and has said so when it made the run.
func ignoredByPipeline(run *crds.TaskRun, condition crds.Condition) crds.Condition {
	if condition.Status == corev1.ConditionFalse && run.Annotations[annotationOnError] == "continue" {
		condition.Reason = string(crds.TaskRunReasonFailureIgnored)
	}
	return condition
}
