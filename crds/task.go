package crds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Task is a list of steps to run, one after the other, in one pod. It does
// nothing by itself: a TaskRun executes it.
//
// +kubebuilder:storageversion
// +kubebuilder:resource:path=tasks,singular=task,scope=Namespaced,categories={tekton,tekton-pipelines}
type Task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the task takes, does and leaves.
	// +kubebuilder:validation:XValidation:rule="has(self.steps) && size(self.steps) > 0",message="a task needs at least one step",fieldPath=".steps",reason=FieldValueRequired
	Spec TaskSpec `json:"spec,omitempty"`
}

// TaskSpec is what a Task takes, does and leaves.
type TaskSpec struct {
	// A name for people; may hold $(params.<name>).
	DisplayName string `json:"displayName,omitempty"`
	// What the task is for, for people.
	Description string `json:"description,omitempty"`
	// What a run may or must set.
	Params ParamSpecs `json:"params,omitempty"`
	// The containers to run, in this order, each after the one before has ended well.
	// +kubebuilder:validation:MaxItems=10000
	Steps []Step `json:"steps,omitempty"`
	// Values that each step starts from and may override.
	StepTemplate *StepTemplate `json:"stepTemplate,omitempty"`
	// Containers that run beside the steps and are stopped after the last of them.
	// +kubebuilder:validation:MaxItems=10000
	Sidecars []Sidecar `json:"sidecars,omitempty"`
	// Volumes of the pod that steps and sidecars may mount.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Directories that a run must or may provide.
	Workspaces []WorkspaceDeclaration `json:"workspaces,omitempty"`
	// What the steps write to $(results.<name>.path).
	Results []TaskResult `json:"results,omitempty"`
}

// TaskResult declares one result of a Task.
//
// +kubebuilder:validation:XValidation:rule="!has(self.type) || self.type != 'object' || has(self.properties)",message="name the keys of the object",fieldPath=".properties",reason=FieldValueRequired
type TaskResult struct {
	// What the result is called in $(results.<name>.path).
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$`
	Name string `json:"name"`
	// string, array or object; string when left out.
	// +kubebuilder:validation:Enum="";string;array;object
	Type ParamType `json:"type,omitempty"`
	// The keys of an object result.
	Properties map[string]PropertySpec `json:"properties,omitempty"`
	// What the result is, for people.
	Description string `json:"description,omitempty"`
	// Take the value from a step: $(steps.<step>.results.<name>).
	Value *ParamValue `json:"value,omitempty"`
}
