package crds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TaskRun executes a Task once: it gives the task its parameters and workspaces,
// and its status tells what came of it.
//
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=taskruns,singular=taskrun,scope=Namespaced,shortName={tr,trs},categories={tekton,tekton-pipelines}
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="StartTime",type=date,JSONPath=`.status.startTime`
// +kubebuilder:printcolumn:name="CompletionTime",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:selectablefield:JSONPath=`.spec.taskRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.serviceAccountName`
// +kubebuilder:selectablefield:JSONPath=`.spec.status`
// +kubebuilder:selectablefield:JSONPath=`.spec.managedBy`
// +kubebuilder:selectablefield:JSONPath=`.status.podName`
type TaskRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run, and with what.
	Spec TaskRunSpec `json:"spec,omitempty"`
	// What has come of it so far.
	Status TaskRunStatus `json:"status,omitzero"`
}

// TaskRunSpec says which task to run, and with what. After the run has started
// only status and statusMessage may change; after it is done, nothing.
//
// +kubebuilder:validation:XValidation:rule="has(self.taskRef) != has(self.taskSpec)",message="give exactly one of taskRef and taskSpec",fieldPath=".taskRef"
// +kubebuilder:validation:XValidation:rule="!has(self.statusMessage) || self.statusMessage == \"\" || has(self.status) && self.status != \"\"",message="it says why the run was cancelled: give status as well, or leave it out",fieldPath=".statusMessage",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",message="cannot be changed: which controller executes a run is settled when it is made",fieldPath=".managedBy"
type TaskRunSpec struct {
	// Where to stop the run for a look inside. Needs the feature flag enable-api-fields=alpha.
	Debug *TaskRunDebug `json:"debug,omitempty"`
	// Values for the parameters of the task.
	Params Params `json:"params,omitempty"`
	// The ServiceAccount of the pod; default-service-account of the configuration when left out.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// The task to run, by name or through a resolver. Excludes taskSpec.
	// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.name == \"\" || !has(self.resolver) || self.resolver == \"\"",message="name a Task of the namespace, or a resolver that is told by params what to fetch, but not both",fieldPath=".name",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="!has(self.params) || size(self.params) == 0 || has(self.resolver) && self.resolver != \"\"",message="these are for a resolver, and none is named; parameters of the task go beside taskRef",fieldPath=".params",reason=FieldValueForbidden
	TaskRef *TaskRef `json:"taskRef,omitempty"`
	// The task to run, given here. Excludes taskRef.
	// +kubebuilder:validation:XValidation:rule="has(self.steps) && size(self.steps) > 0",message="a task needs at least one step",fieldPath=".steps",reason=FieldValueRequired
	TaskSpec *TaskSpec `json:"taskSpec,omitempty"`
	// TaskRunCancelled stops the run; TaskRunPending keeps it from starting.
	// +kubebuilder:validation:Enum="";TaskRunCancelled;TaskRunPending
	Status TaskRunSpecStatus `json:"status,omitempty"`
	// Why the run was cancelled, for people.
	StatusMessage TaskRunSpecStatusMessage `json:"statusMessage,omitempty"`
	// How often a failed run is tried again; 0 when left out.
	// +kubebuilder:validation:Minimum=0
	Retries int `json:"retries,omitempty"`
	// How long one attempt may take, such as 90s or 1h30m; 0 for no limit;
	// default-timeout-minutes of the configuration when left out.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// What to add to the pod, or change of it.
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Volumes for the workspaces that the task declares.
	Workspaces []WorkspaceBinding `json:"workspaces,omitempty"`
	// Resources of single steps, over what the task says.
	StepSpecs []TaskRunStepSpec `json:"stepSpecs,omitempty"`
	// Resources of single sidecars, over what the task says.
	SidecarSpecs []TaskRunSidecarSpec `json:"sidecarSpecs,omitempty"`
	// Resources of all steps together. Excludes stepSpecs.
	ComputeResources *corev1.ResourceRequirements `json:"computeResources,omitempty"`
	// The controller that is to execute the run; this one when left out or
	// tekton.dev/pipeline. Cannot be changed.
	ManagedBy *string `json:"managedBy,omitempty"`
}

// TaskRunSpecStatus is what a user wants of a run that exists.
type TaskRunSpecStatus string

// What a user may want of a run that exists.
const (
	TaskRunSpecStatusCancelled TaskRunSpecStatus = "TaskRunCancelled"
	TaskRunSpecStatusPending   TaskRunSpecStatus = "TaskRunPending"
)

// TaskRunSpecStatusMessage says why a run was cancelled.
type TaskRunSpecStatusMessage string

// TaskRunDebug says where a run stops for a look inside.
type TaskRunDebug struct {
	// The places to stop at.
	Breakpoints *TaskBreakpoints `json:"breakpoints,omitempty"`
}

// TaskBreakpoints are places where a run stops until somebody lets it go on.
type TaskBreakpoints struct {
	// enabled keeps a step that failed from ending.
	// +kubebuilder:validation:Enum="";enabled
	OnFailure string `json:"onFailure,omitempty"`
	// Steps to stop before.
	BeforeSteps []string `json:"beforeSteps,omitempty"`
}

// TaskRunStepSpec overrides the resources of one step.
type TaskRunStepSpec struct {
	// The step, as the task names it.
	Name string `json:"name"`
	// What the step requests and may use.
	ComputeResources corev1.ResourceRequirements `json:"computeResources,omitzero"`
}

// TaskRunSidecarSpec overrides the resources of one sidecar.
type TaskRunSidecarSpec struct {
	// The sidecar, as the task names it.
	Name string `json:"name"`
	// What the sidecar requests and may use.
	ComputeResources corev1.ResourceRequirements `json:"computeResources,omitzero"`
}
