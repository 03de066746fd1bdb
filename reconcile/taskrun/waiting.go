package taskrun

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// Reasons for which a kubelet keeps a container waiting.
const (
	waitConfigError = "CreateContainerConfigError"
	waitCreateError = "CreateContainerError"
	waitRunError    = "RunContainerError"
	waitPullBackOff = "ImagePullBackOff"
	waitBadName     = "InvalidImageName"
)

// A hold is a container that does not start, and why.
type hold struct {
	kind    string // "step", "sidecar" or "init container"
	name    string // as the task names it
	image   string
	reason  string
	message string
}

// holds lists the waiting containers that say why, steps first.
func holds(pod *corev1.Pod) []hold {
	var found []hold
	add := func(kind, name string, status corev1.ContainerStatus) {
		waiting := status.State.Waiting
		if waiting != nil && waiting.Reason != "" && waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
			found = append(found, hold{kind, name, imageOf(pod, status), waiting.Reason, waiting.Message})
		}
	}
	for _, status := range stepStatuses(pod) {
		add("step", strings.TrimPrefix(status.Name, stepPrefix), status)
	}
	if !podBegun(pod) { // later a sidecar may be waited for as long as there are steps
		for _, status := range sidecarStatuses(pod) {
			add("sidecar", strings.TrimPrefix(status.Name, sidecarPrefix), status)
		}
	}
	for _, status := range initStatuses(pod) {
		add("init container", status.Name, status)
	}
	return found
}

// imageOf is the image as the spec has it: a status names it by what was pulled,
// which is nothing when the pull fails.
func imageOf(pod *corev1.Pod, status corev1.ContainerStatus) string {
	for _, containers := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for _, container := range containers {
			if container.Name == status.Name {
				return container.Image
			}
		}
	}
	return status.Image
}

func (h hold) isPull() bool {
	switch h.reason {
	case waitPullBackOff, waitBadName, "ErrImagePull", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable":
		return true
	default:
		return false
	}
}

// failsAfter is how long a run bears with the hold; ok is false for holds that
// the kubelet may get over.
func (h hold) failsAfter(c Config) (patience time.Duration, ok bool) {
	switch h.reason {
	case waitBadName, "ErrImageNeverPull":
		return 0, true
	case waitPullBackOff:
		return c.ImagePullBackOffTimeout, true
	case waitCreateError:
		return c.CreateContainerErrorTimeout, true
	case waitConfigError:
		// A kubelet that has not fetched a Secret yet reports it in these words.
		return 0, !strings.Contains(h.message, "failed to sync")
	default:
		return 0, false
	}
}

// refusal is the end of a run that has lost patience with the hold.
func (h hold) refusal(run *crds.TaskRun) *refusal {
	switch {
	case h.isPull():
		return &refusal{crds.TaskRunReasonImagePullFailed, fmt.Sprintf(
			`The %s %q in TaskRun %q failed to pull the image %q. The pod errored with the message: "%s."`, h.kind, h.name, run.Name, h.image, h.message)}
	case h.reason == waitConfigError:
		return &refusal{crds.TaskRunReasonCreateContainerConfigError, fmt.Sprintf(
			"Failed to create pod due to config error: %s %q: %s", h.kind, h.name, h.message)}
	default:
		return &refusal{crds.TaskRunReasonPodCreationFailed, fmt.Sprintf(
			`The %s %q in TaskRun %q failed to start. The pod errored with the message: "%s."`, h.kind, h.name, run.Name, h.message)}
	}
}

// lastStraw is the first hold that the run bears with no longer; else, if there
// is one that it bears with for a time, when that time is over.
func lastStraw(pod *corev1.Pod, now time.Time, c Config) (straw *hold, until time.Time) {
	since := pod.CreationTimestamp.Time
	if pod.Status.StartTime != nil {
		since = pod.Status.StartTime.Time
	}
	for _, h := range holds(pod) {
		patience, ok := h.failsAfter(c)
		if !ok {
			continue
		}
		over := since.Add(patience)
		if patience == 0 || !now.Before(over) {
			return &h, time.Time{}
		}
		if until.IsZero() || over.Before(until) {
			until = over
		}
	}
	return nil, until
}

// pending is the condition of a run whose pod has not started. sure is false
// while it is what every pod goes through on its way.
func pending(pod *corev1.Pod) (condition crds.Condition, sure bool) {
	if exceedsNodes(pod) {
		return ongoing(crds.TaskRunReasonExceededNodeResources, "TaskRun Pod exceeded available resources"), true
	}
	for _, h := range holds(pod) {
		if h.isPull() {
			return ongoing(crds.TaskRunReasonPullImageFailed, waitingMessage(pod)), true
		}
	}
	return ongoing(crds.TaskRunReasonPending, waitingMessage(pod)), false
}

func exceedsNodes(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Reason == corev1.PodReasonUnschedulable && strings.Contains(condition.Message, "Insufficient") {
			return true
		}
	}
	return false
}

func waitingMessage(pod *corev1.Pod) string {
	for _, h := range holds(pod) {
		if h.message != "" {
			return fmt.Sprintf("build step %q is pending with reason %q", h.container(), h.message)
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			return fmt.Sprintf("pod status %q:%q; message: %q", condition.Type, condition.Status, condition.Message)
		}
	}
	if pod.Status.Message != "" {
		return pod.Status.Message
	}
	return "Pending"
}

func (h hold) container() string {
	switch h.kind {
	case "step":
		return stepPrefix + h.name
	case "sidecar":
		return sidecarPrefix + h.name
	default:
		return h.name
	}
}

// silent tells a pod that is on a node, has not started, and does not say why: what
// is wrong with its volumes, or its network, the kubelet tells in events alone.
func silent(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" {
		return false
	}
	for _, h := range holds(pod) {
		if h.message != "" {
			return false
		}
	}
	return true
}

// explainAt is when a run begins to say what it waits for: earlier, every pod
// would cost a write or two for words that nobody has time to read. A server whose clock
// is ahead says that the pod is yet to be made: it was after the attempt had begun, by
// this clock (seed 1446).
func (d decision) explainAt() time.Time {
	made := d.Pod.CreationTimestamp.Time
	if began := d.Run.Status.StartTime; began != nil && made.After(d.now) {
		made = began.Time
	}
	return made.Add(d.config.explainPendingAfter())
}
