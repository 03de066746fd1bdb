package taskrun

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// A plan says what it is going to do, and why.
func Example() {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	run := &crds.TaskRun{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "run-1", CreationTimestamp: metav1.NewTime(now)},
		Spec: crds.TaskRunSpec{TaskSpec: &crds.TaskSpec{
			Steps: []crds.Step{{Name: "make", Image: "golang", Command: []string{"make"}}},
		}},
	}
	config := Config{EntrypointImage: "registry.example/millrace:v1"}

	p := plan(observation{Run: run, Mode: ModeImageVolume}, now, config)
	fmt.Println(p)

	// The plan is carried out: the status is stored, the pod is made, and fails.
	run.Status = p.Actions[0].(PatchStatus).Status
	pod := p.Actions[1].(CreatePod).Pod
	pod.UID = "pod-1"
	pod.Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
		Name:  "step-make",
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Reason: "Error"}},
	}}}
	fmt.Println(plan(observation{Run: run, Pod: pod, Mode: ModeImageVolume}, now.Add(time.Minute), config))

	// Output:
	// the run has not begun
	//   patch status: Succeeded Unknown Started:
	//   create pod build-pod with 1 containers
	//   look again in 10s
	// the run ends: StepFailed
	//   patch status: Succeeded False StepFailed: "step-make" exited with code 2: Error
}
