package crds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TaskRunStatus is what has come of a TaskRun so far.
type TaskRunStatus struct {
	// The generation of the spec that this status tells of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Succeeded: Unknown while the run goes on, then True or False.
	// +listType=map
	// +listMapKey=type
	Conditions Conditions `json:"conditions,omitempty"`
	// Further facts about the status, for tools.
	Annotations map[string]string `json:"annotations,omitempty"`
	// The pod of the current attempt, in the namespace of the run.
	PodName string `json:"podName,omitempty"`
	// When the current attempt began.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the run ended.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// How each step fares, in the order of the task.
	Steps []StepState `json:"steps,omitempty"`
	// How each sidecar fares.
	Sidecars []SidecarState `json:"sidecars,omitempty"`
	// What the task left as results.
	Results []TaskRunResult `json:"results,omitempty"`
	// What the task took and made, as its steps told.
	Artifacts *Artifacts `json:"artifacts,omitempty"`
	// The status of each attempt that failed and was tried again, oldest first.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=array
	RetriesStatus []TaskRunStatus `json:"retriesStatus,omitempty"`
	// The task as it was run: fetched, and with its variables replaced.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	TaskSpec *TaskSpec `json:"taskSpec,omitempty"`
	// Where the task came from, and with which settings it was run.
	Provenance *Provenance `json:"provenance,omitempty"`
	// The trace that the run belongs to.
	SpanContext map[string]string `json:"spanContext,omitempty"`
}

// ContainerState is where a container stands: at most one of the three is set.
// A corev1.ContainerState converts to it.
type ContainerState struct {
	// The container has not started, and why.
	Waiting *corev1.ContainerStateWaiting `json:"waiting,omitempty"`
	// The container runs, and since when.
	Running *corev1.ContainerStateRunning `json:"running,omitempty"`
	// The container has ended, and how.
	Terminated *corev1.ContainerStateTerminated `json:"terminated,omitempty"`
}

// StepState is where one step stands.
type StepState struct {
	ContainerState `json:",inline"`

	// The step, as the task names it.
	Name string `json:"name,omitempty"`
	// Its container in the pod.
	Container string `json:"container,omitempty"`
	// The image that ran, with its digest.
	ImageID string `json:"imageID,omitempty"`
	// What the step left as results.
	Results []TaskRunResult `json:"results,omitempty"`
	// Where the step's StepAction came from.
	Provenance *Provenance `json:"provenance,omitempty"`
	// Completed, Continued, Error, Skipped, TimeoutExceeded or Cancelled: more
	// exact than the container's own reason.
	TerminationReason string `json:"terminationReason,omitempty"`
	// What the step took, as it told.
	Inputs []Artifact `json:"inputs,omitempty"`
	// What the step made, as it told.
	Outputs []Artifact `json:"outputs,omitempty"`
}

// SidecarState is where one sidecar stands.
type SidecarState struct {
	ContainerState `json:",inline"`

	// The sidecar, as the task names it.
	Name string `json:"name,omitempty"`
	// Its container in the pod.
	Container string `json:"container,omitempty"`
	// The image that ran, with its digest.
	ImageID string `json:"imageID,omitempty"`
}

// TaskRunResult is a result with its value.
type TaskRunResult struct {
	// The declared name.
	Name string `json:"name"`
	// string, array or object.
	Type ParamType `json:"type,omitempty"`
	// A string, an array of strings or an object of strings.
	Value ParamValue `json:"value"`
}
