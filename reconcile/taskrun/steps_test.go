package taskrun

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// A restart after which the cache shows the pod as it was before its first step
// ended, or began: seed=1 workload="quota refuses at first" stale=pods:12:14.
func TestAStepThatHasEndedStaysSoWhenItsPodIsSeenAsItWasBefore(t *testing.T) {
	ended := crds.StepState{Name: "first", Container: "step-first"}
	ended.Terminated = &corev1.ContainerStateTerminated{ExitCode: 0, Reason: "Completed"}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, seen := range map[string][]corev1.ContainerStatus{
		"not yet reported": nil,
		"still running":    {{Name: "step-first", State: running}, {Name: "step-second", State: running}},
	} {
		pod := &corev1.Pod{}
		pod.Spec.Containers = []corev1.Container{{Name: "step-first"}, {Name: "step-second"}}
		pod.Status.ContainerStatuses = seen
		states := stepStates(pod, []crds.StepState{ended})
		if len(states) == 0 || states[0].Container != "step-first" || states[0].Terminated == nil {
			t.Errorf("%s: %+v", name, states)
		}
	}
}

// A step whose node has no room left for a file: the next one would wait for ever.
func TestAStepThatCouldNotTellTheNextOneEndsThePod(t *testing.T) {
	pod := &corev1.Pod{}
	pod.Spec.Containers = []corev1.Container{{Name: "step-first"}, {Name: "step-second"}}
	pod.Status.Phase = corev1.PodRunning
	first := corev1.ContainerStatus{Name: "step-first"}
	first.State.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}
	second := corev1.ContainerStatus{Name: "step-second"}
	second.State.Running = &corev1.ContainerStateRunning{}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{first, second}
	for _, reason := range []string{"", stepUntold} {
		first.State.Terminated.Message = `[{"key":"StartedAt","value":"2026-01-01T00:00:00.000Z","type":3},{"key":"Reason","value":"` + reason + `","type":3}]`
		if told := reason != ""; complete(pod) != told || strings.Contains(outcome(pod).Message, "could not tell the next step") != told {
			t.Errorf("%q: complete %t, %s", reason, complete(pod), outcome(pod).Message)
		}
	}
}

// The pod's cache may be behind what was written: a step that had ended goes on there, and
// has left nothing.
func TestOnAnOldViewAStepThatHasEndedKeepsItsResults(t *testing.T) {
	spec := parseRun(t, "taskSpec: {steps: [{name: a, image: x, script: x, results: [{name: own}]}]}").Spec.TaskSpec
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}}}
	view := func(state corev1.ContainerState, before []crds.StepState) []crds.StepState {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "step-a", State: state}}
		return findResults(pod, nil).ofSteps(spec, stepStates(pod, before))
	}
	ended := view(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: `[{"key":"own","value":"v","type":4}]`}}, nil)
	old := view(corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}, ended)
	if len(old) != 1 || len(old[0].Results) != 1 || old[0].Results[0].Value.StringVal != "v" || old[0].Terminated == nil {
		t.Errorf("it was %+v, and is %+v", ended, old)
	}
}
