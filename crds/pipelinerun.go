package crds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PipelineRun executes a Pipeline once: it gives the pipeline its parameters and
// workspaces, makes a run for each task, and its status tells what came of them.
//
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=pipelineruns,singular=pipelinerun,scope=Namespaced,shortName={pr,prs},categories={tekton,tekton-pipelines}
// +kubebuilder:printcolumn:name="Succeeded",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Succeeded")].reason`
// +kubebuilder:printcolumn:name="StartTime",type=date,JSONPath=`.status.startTime`
// +kubebuilder:printcolumn:name="CompletionTime",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:selectablefield:JSONPath=`.spec.pipelineRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.status`
// +kubebuilder:selectablefield:JSONPath=`.spec.managedBy`
type PipelineRun struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What to run, and with what.
	Spec PipelineRunSpec `json:"spec,omitempty"`
	// What has come of it so far.
	Status PipelineRunStatus `json:"status,omitzero"`
}

// PipelineRunSpec says which pipeline to run, and with what. After the run has
// started only status may change; after it is done, nothing.
//
// +kubebuilder:validation:XValidation:rule="has(self.pipelineRef) != has(self.pipelineSpec)",message="give exactly one of pipelineRef and pipelineSpec",fieldPath=".pipelineRef"
// +kubebuilder:validation:XValidation:rule="has(self.managedBy) == has(oldSelf.managedBy) && (!has(self.managedBy) || self.managedBy == oldSelf.managedBy)",message="cannot be changed: which controller executes a run is settled when it is made",fieldPath=".managedBy"
type PipelineRunSpec struct {
	// The pipeline to run, by name or through a resolver. Excludes pipelineSpec.
	// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.name == \"\" || !has(self.resolver) || self.resolver == \"\"",message="name a Pipeline of the namespace, or a resolver that is told by params what to fetch, but not both",fieldPath=".name",reason=FieldValueForbidden
	// +kubebuilder:validation:XValidation:rule="!has(self.params) || size(self.params) == 0 || has(self.resolver) && self.resolver != \"\"",message="these are for a resolver, and none is named; parameters of the pipeline go beside pipelineRef",fieldPath=".params",reason=FieldValueForbidden
	PipelineRef *PipelineRef `json:"pipelineRef,omitempty"`
	// The pipeline to run, given here (pipeline.spec explains all of its fields). Excludes pipelineRef.
	PipelineSpec *PipelineSpec `json:"pipelineSpec,omitempty"`
	// Values for the parameters of the pipeline.
	Params Params `json:"params,omitempty"`
	// Cancelled stops everything; CancelledRunFinally stops the tasks and runs those
	// of finally; StoppedRunFinally starts no more tasks, waits for those that run,
	// and runs those of finally; PipelineRunPending keeps the run from starting.
	// +kubebuilder:validation:Enum="";Cancelled;CancelledRunFinally;StoppedRunFinally;PipelineRunPending
	Status PipelineRunSpecStatus `json:"status,omitempty"`
	// How long the run and its parts may take.
	Timeouts *TimeoutFields `json:"timeouts,omitempty"`
	// What every TaskRun of the run gets.
	TaskRunTemplate PipelineTaskRunTemplate `json:"taskRunTemplate,omitzero"`
	// Volumes for the workspaces that the pipeline declares.
	Workspaces []WorkspaceBinding `json:"workspaces,omitempty"`
	// What the TaskRuns of single tasks get, over the template.
	TaskRunSpecs []PipelineTaskRunSpec `json:"taskRunSpecs,omitempty"`
	// The controller that is to execute the run; this one when left out or
	// tekton.dev/pipeline. Cannot be changed.
	ManagedBy *string `json:"managedBy,omitempty"`
}

// PipelineRunSpecStatus is what a user wants of a run that exists.
type PipelineRunSpecStatus string

// What a user may want of a run that exists.
const (
	PipelineRunSpecStatusCancelled           PipelineRunSpecStatus = "Cancelled"
	PipelineRunSpecStatusCancelledRunFinally PipelineRunSpecStatus = "CancelledRunFinally"
	PipelineRunSpecStatusStoppedRunFinally   PipelineRunSpecStatus = "StoppedRunFinally"
	PipelineRunSpecStatusPending             PipelineRunSpecStatus = "PipelineRunPending"
)

// TimeoutFields are how long a run and its parts may take, such as 90s or 1h30m;
// 0 is no limit.
//
// +kubebuilder:validation:XValidation:rule="!has(self.pipeline) || !has(self.tasks) || duration(self.pipeline) == duration('0s') || duration(self.tasks) > duration('0s') && duration(self.tasks) <= duration(self.pipeline)",message="the tasks have no longer than the whole run: at most what pipeline says",fieldPath=".tasks"
// +kubebuilder:validation:XValidation:rule="!has(self.pipeline) || !has(self.finally) || duration(self.pipeline) == duration('0s') || duration(self.finally) > duration('0s') && duration(self.finally) <= duration(self.pipeline)",message="the tasks of finally have no longer than the whole run: at most what pipeline says",fieldPath=".finally"
// +kubebuilder:validation:XValidation:rule="!has(self.pipeline) || !has(self.tasks) || !has(self.finally) || duration(self.tasks) + duration(self.finally) <= duration(self.pipeline)",message="tasks and finally together have no longer than the whole run: at most what pipeline says; without a limit on that (0), limit one of them at most",fieldPath=".tasks"
type TimeoutFields struct {
	// The whole run; default-timeout-minutes of the configuration when left out.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	Pipeline *metav1.Duration `json:"pipeline,omitempty"`
	// The graph; what finally leaves of pipeline when left out.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	Tasks *metav1.Duration `json:"tasks,omitempty"`
	// The tasks of finally; what tasks leaves of pipeline when left out.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	Finally *metav1.Duration `json:"finally,omitempty"`
}

// PipelineTaskRunTemplate is what every TaskRun of a run gets.
type PipelineTaskRunTemplate struct {
	// What to add to the pods, or change of them (taskrun.spec.podTemplate explains all of its fields).
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// The ServiceAccount of the pods; default-service-account of the configuration when left out.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
}

// PipelineTaskRunSpec is what the TaskRuns of one task get, over the template.
type PipelineTaskRunSpec struct {
	// The task, as the pipeline names it.
	PipelineTaskName string `json:"pipelineTaskName,omitempty"`
	// The ServiceAccount of its pods.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// What to add to its pods, or change of them; single fields win over the template's.
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	// Resources of single steps.
	StepSpecs []TaskRunStepSpec `json:"stepSpecs,omitempty"`
	// Resources of single sidecars.
	SidecarSpecs []TaskRunSidecarSpec `json:"sidecarSpecs,omitempty"`
	// Labels and annotations of its TaskRuns.
	Metadata *PipelineTaskMetadata `json:"metadata,omitempty"`
	// Resources of all steps together. Excludes stepSpecs.
	ComputeResources *corev1.ResourceRequirements `json:"computeResources,omitempty"`
	// How long one attempt may take; wins over that of the pipeline.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}
