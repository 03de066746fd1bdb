package crds

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CustomRun is a task that somebody else's controller runs: one that knows the
// kind that the run refers to. It is tekton.dev/v1beta1.
//
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=customruns,singular=customrun,scope=Namespaced,categories={tekton,tekton-pipelines}
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="StartTime",type=date,JSONPath=`.status.startTime`
// +kubebuilder:printcolumn:name="CompletionTime",type=date,JSONPath=`.status.completionTime`
type CustomRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run, and with what.
	Spec CustomRunSpec `json:"spec,omitempty"`
	// What has come of it so far; the custom-task controller writes it.
	Status CustomRunStatus `json:"status,omitzero"`
}

// CustomRunSpec says what to run, and with what.
//
// +kubebuilder:validation:XValidation:rule="has(self.customRef) != has(self.customSpec)",message="give exactly one of customRef and customSpec",fieldPath=".customRef"
// +kubebuilder:validation:XValidation:rule="!has(self.statusMessage) || self.statusMessage == \"\" || has(self.status) && self.status != \"\"",message="it says why the run was cancelled: give status as well, or leave it out",fieldPath=".statusMessage",reason=FieldValueForbidden
type CustomRunSpec struct {
	// The kind of custom task, and an object of it. Excludes customSpec.
	// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) && self.apiVersion != \"\"",message="say by the apiVersion whose custom task it is",fieldPath=".apiVersion",reason=FieldValueRequired
	// +kubebuilder:validation:XValidation:rule="has(self.kind) && self.kind != \"\"",message="say of which kind the custom task is",fieldPath=".kind",reason=FieldValueRequired
	CustomRef *TaskRef `json:"customRef,omitempty"`
	// The custom task, given here. Excludes customRef.
	// +kubebuilder:validation:XValidation:rule="has(self.apiVersion) && self.apiVersion != \"\"",message="say by the apiVersion whose custom task it is",fieldPath=".apiVersion",reason=FieldValueRequired
	// +kubebuilder:validation:XValidation:rule="has(self.kind) && self.kind != \"\"",message="say of which kind the custom task is",fieldPath=".kind",reason=FieldValueRequired
	CustomSpec *EmbeddedCustomRunSpec `json:"customSpec,omitempty"`
	// Values for the parameters of the custom task.
	Params Params `json:"params,omitempty"`
	// RunCancelled stops the run.
	Status CustomRunSpecStatus `json:"status,omitempty"`
	// Why the run was cancelled, for people.
	StatusMessage CustomRunSpecStatusMessage `json:"statusMessage,omitempty"`
	// How often the custom-task controller is to try again.
	Retries int `json:"retries,omitempty"`
	// The ServiceAccount to act as.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// How long one attempt may take, such as 90s or 1h30m.
	// +kubebuilder:validation:Type=string
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Volumes for the workspaces of the custom task.
	Workspaces []WorkspaceBinding `json:"workspaces,omitempty"`
}

// EmbeddedCustomRunSpec is a custom task given in place.
type EmbeddedCustomRunSpec struct {
	// The group and version of the custom task.
	APIVersion string `json:"apiVersion,omitempty"`
	// Its kind.
	Kind string `json:"kind,omitempty"`
	// Labels and annotations, for the custom-task controller.
	Metadata PipelineTaskMetadata `json:"metadata,omitzero"`
	// The spec, in that controller's own words.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec json.RawMessage `json:"spec,omitempty"`
}

// CustomRunSpecStatus is what a user wants of a run that exists.
type CustomRunSpecStatus string

// What a user may want of a CustomRun that exists.
const (
	CustomRunSpecStatusCancelled CustomRunSpecStatus = "RunCancelled"
)

// CustomRunSpecStatusMessage says why a run was cancelled.
type CustomRunSpecStatusMessage string

// CustomRunStatus is what has come of a CustomRun so far.
type CustomRunStatus struct {
	// The generation of the spec that this status tells of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Succeeded: Unknown while the run goes on, then True or False.
	// +listType=map
	// +listMapKey=type
	Conditions Conditions `json:"conditions,omitempty"`
	// Further facts about the status, for tools.
	Annotations map[string]string `json:"annotations,omitempty"`
	// When the current attempt began.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the run ended.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// What the run left as results.
	Results []CustomRunResult `json:"results,omitempty"`
	// The status of each attempt that failed and was tried again, oldest first.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=array
	RetriesStatus []CustomRunStatus `json:"retriesStatus,omitempty"`
	// Whatever else the custom-task controller has to say.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	ExtraFields json.RawMessage `json:"extraFields,omitempty"`
}

// CustomRunResult is a result with its value, always a string.
type CustomRunResult struct {
	// What the result is called.
	Name string `json:"name"`
	// Its value.
	Value string `json:"value"`
}

// Succeeded returns the run's condition Succeeded; a run that has none yet is
// Unknown, without a reason.
func (r *CustomRun) Succeeded() Condition {
	return r.Status.Conditions.succeeded()
}

// IsDone tells whether the run has ended, well or not.
func (r *CustomRun) IsDone() bool {
	return r.Succeeded().Status != corev1.ConditionUnknown
}

// IsCancelled tells whether a user has asked to stop the run; it may not have ended yet.
func (r *CustomRun) IsCancelled() bool {
	return r.Spec.Status == CustomRunSpecStatusCancelled
}
