package taskrun

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// stepStatuses are the statuses of the step containers in the order of the
// pod's spec. The kubelet reports them in an order of its own, and leaves out
// containers that it has not come to.
func stepStatuses(pod *corev1.Pod) []corev1.ContainerStatus {
	var statuses []corev1.ContainerStatus
	for _, container := range pod.Spec.Containers {
		if !isStep(container.Name) {
			continue
		}
		if status, ok := statusOf(pod.Status.ContainerStatuses, container.Name); ok {
			statuses = append(statuses, status)
		}
	}
	return statuses
}

func statusOf(statuses []corev1.ContainerStatus, name string) (corev1.ContainerStatus, bool) {
	i := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool { return s.Name == name })
	if i < 0 {
		return corev1.ContainerStatus{}, false
	}
	return statuses[i], true
}

func isStep(container string) bool { return strings.HasPrefix(container, stepPrefix) }

// countSteps is how many step containers the pod is to have.
func countSteps(pod *corev1.Pod) int {
	n := 0
	for _, container := range pod.Spec.Containers {
		if isStep(container.Name) {
			n++
		}
	}
	return n
}

// stepStates is the steps part of a run's status. A step that has been seen to
// end stays as it was seen then, also if the pod is now seen as it was before that:
// after a restart a cache may be behind what this program's predecessor wrote.
func stepStates(pod *corev1.Pod, before []crds.StepState) []crds.StepState {
	var states []crds.StepState
	for _, container := range pod.Spec.Containers {
		if !isStep(container.Name) {
			continue
		}
		if old, ok := stateOf(before, container.Name); ok && old.Terminated != nil {
			states = append(states, old)
		} else if status, ok := statusOf(pod.Status.ContainerStatuses, container.Name); ok {
			states = append(states, stepState(status))
		}
	}
	return states
}

// stepOf is the step that the container runs.
func stepOf(spec *crds.TaskSpec, container string) crds.Step {
	for i, step := range spec.Steps {
		if containerName(step, i) == container {
			return step
		}
	}
	return crds.Step{}
}

func stateOf(states []crds.StepState, container string) (crds.StepState, bool) {
	i := slices.IndexFunc(states, func(s crds.StepState) bool { return s.Container == container })
	if i < 0 {
		return crds.StepState{}, false
	}
	return states[i], true
}

func stepState(status corev1.ContainerStatus) crds.StepState {
	state := crds.StepState{
		ContainerState: crds.ContainerState(status.State),
		Name:           strings.TrimPrefix(status.Name, stepPrefix),
		Container:      status.Name,
		ImageID:        status.ImageID,
	}
	if status.State.Terminated == nil {
		return state
	}
	terminated := *status.State.Terminated
	told := readReport(terminated.Message)
	terminated.Message = told.visible
	if told.startedAt != nil {
		terminated.StartedAt = *told.startedAt
	}
	state.TerminationReason = terminationReason(terminated.Reason, told)
	if told.exitCode != nil {
		terminated.ExitCode = *told.exitCode
	}
	state.Terminated = &terminated
	return state
}

func terminationReason(container string, told report) string {
	switch {
	case told.reason != "":
		return told.reason
	case told.exitCode != nil:
		return "Continued"
	default:
		return container
	}
}

// endSteps marks steps that had not ended as ended by the run's own end. Those
// that waited for a step that failed were skipped, though nobody told them.
func endSteps(states []crds.StepState, reason string, at metav1.Time) []crds.StepState {
	why := reason
	if reason == string(crds.TaskRunReasonStepFailed) || reason == string(crds.TaskRunReasonStepOOM) {
		why = "Skipped"
	}
	ended := slices.Clone(states)
	for i, state := range ended {
		if state.Terminated != nil {
			continue
		}
		terminated := corev1.ContainerStateTerminated{ExitCode: 1, Reason: reason, FinishedAt: at}
		if state.Running != nil {
			terminated.StartedAt = state.Running.StartedAt
		}
		ended[i].ContainerState = crds.ContainerState{Terminated: &terminated}
		ended[i].TerminationReason = why
	}
	return ended
}

// begun tells whether the first step was ever seen to run. The others' containers
// run from the start and wait inside.
func begun(states []crds.StepState) bool {
	return len(states) > 0 && (states[0].Running != nil || hasRun(states[0].Terminated))
}

// podBegun is begun for what the pod itself says.
func podBegun(pod *corev1.Pod) bool {
	statuses := stepStatuses(pod)
	if len(statuses) == 0 {
		return false
	}
	first := statuses[0].State
	return first.Running != nil || hasRun(first.Terminated)
}

// hasRun is false for a container that could not be started at all, or that never
// came to be because its pod was deleted: the kubelet reports both as ended.
func hasRun(terminated *corev1.ContainerStateTerminated) bool {
	if terminated == nil {
		return false
	}
	switch terminated.Reason {
	case "StartError", "ContainerCannotRun":
		return false
	case "ContainerStatusUnknown":
		return !terminated.StartedAt.IsZero()
	default:
		return true
	}
}
