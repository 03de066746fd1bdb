package crds

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// PipelineRunStatus is what has come of a PipelineRun so far.
type PipelineRunStatus struct {
	// The generation of the spec that this status tells of.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Succeeded: Unknown while the run goes on, then True or False.
	// +listType=map
	// +listMapKey=type
	Conditions Conditions `json:"conditions,omitempty"`
	// Further facts about the status, for tools.
	Annotations map[string]string `json:"annotations,omitempty"`
	// When the run began.
	StartTime *metav1.Time `json:"startTime,omitempty"`
	// When the run ended.
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
	// When the first task of finally began.
	FinallyStartTime *metav1.Time `json:"finallyStartTime,omitempty"`
	// What the run left as results.
	Results []PipelineRunResult `json:"results,omitempty"`
	// The pipeline as it was when the run began, with its parameters replaced.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	PipelineSpec *PipelineSpec `json:"pipelineSpec,omitempty"`
	// Tasks that will not run, and why.
	SkippedTasks []SkippedTask `json:"skippedTasks,omitempty"`
	// The runs that were made for the tasks, in the namespace of this run.
	ChildReferences []ChildStatusReference `json:"childReferences,omitempty"`
	// Where the pipeline came from, and with which settings it was run.
	Provenance *Provenance `json:"provenance,omitempty"`
	// The trace that the run belongs to.
	SpanContext map[string]string `json:"spanContext,omitempty"`
}

// PipelineRunResult is a result of the run with its value.
type PipelineRunResult struct {
	// The declared name.
	Name string `json:"name"`
	// A string, an array of strings or an object of strings.
	Value ParamValue `json:"value"`
}

// ChildStatusReference names one run that was made for a task.
type ChildStatusReference struct {
	// The group and version of the run.
	APIVersion string `json:"apiVersion,omitempty"`
	// TaskRun, CustomRun or PipelineRun.
	Kind string `json:"kind,omitempty"`
	// Its name.
	Name string `json:"name,omitempty"`
	// The task's name for people, with its variables replaced.
	DisplayName string `json:"displayName,omitempty"`
	// The task, as the pipeline names it.
	PipelineTaskName string `json:"pipelineTaskName,omitempty"`
	// What held when the task began.
	WhenExpressions WhenExpressions `json:"whenExpressions,omitempty"`
}

// SkippedTask is a task that will not run.
type SkippedTask struct {
	// The task, as the pipeline names it.
	Name string `json:"name"`
	// Why it will not run.
	Reason SkippingReason `json:"reason"`
	// What did not hold, with its variables replaced.
	WhenExpressions WhenExpressions `json:"whenExpressions,omitempty"`
}

// SkippingReason says why a task will not run. The sentences are Tekton's: tools
// compare them.
type SkippingReason string

// The reasons for which a task will not run.
const (
	// SkippingReasonWhen: a when expression of its own does not hold.
	SkippingReasonWhen SkippingReason = "When Expressions evaluated to false"
	// SkippingReasonParentTasks: a task that it must follow was skipped.
	SkippingReasonParentTasks SkippingReason = "Parent Tasks were skipped"
	// SkippingReasonStopping: another task failed before this one could begin.
	SkippingReasonStopping SkippingReason = "PipelineRun was stopping"
	// SkippingReasonGracefullyCancelled: a user cancelled the tasks before it could begin.
	SkippingReasonGracefullyCancelled SkippingReason = "PipelineRun was gracefully cancelled"
	// SkippingReasonGracefullyStopped: a user stopped the run before it could begin.
	SkippingReasonGracefullyStopped SkippingReason = "PipelineRun was gracefully stopped"
	// SkippingReasonMissingResults: a result that it refers to was not left.
	SkippingReasonMissingResults SkippingReason = "Results were missing"
	// SkippingReasonPipelineTimedOut: the run took too long.
	SkippingReasonPipelineTimedOut SkippingReason = "PipelineRun timeout has been reached"
	// SkippingReasonTasksTimedOut: the graph took too long.
	SkippingReasonTasksTimedOut SkippingReason = "PipelineRun Tasks timeout has been reached"
	// SkippingReasonFinallyTimedOut: the tasks of finally took too long.
	SkippingReasonFinallyTimedOut SkippingReason = "PipelineRun Finally timeout has been reached"
	// SkippingReasonEmptyMatrix: a parameter of its matrix has no elements.
	SkippingReasonEmptyMatrix SkippingReason = "Matrix Parameters have an empty array"
	// SkippingReasonNone: not skipped after all.
	SkippingReasonNone SkippingReason = "None"
)
