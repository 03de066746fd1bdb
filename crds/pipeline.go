package crds

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pipeline is a graph of tasks, each run when those it depends on have ended. It
// does nothing by itself: a PipelineRun executes it.
//
// +kubebuilder:storageversion
// +kubebuilder:resource:path=pipelines,singular=pipeline,scope=Namespaced,categories={tekton,tekton-pipelines}
type Pipeline struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What the pipeline takes, runs and leaves.
	// +kubebuilder:validation:XValidation:rule="has(self.tasks) || has(self.params) || has(self.description) || has(self.workspaces) || has(self.results) || has(self.displayName) || has(self.finally)",message="a pipeline needs tasks",fieldPath=".tasks",reason=FieldValueRequired
	// +kubebuilder:validation:XValidation:rule="!has(self.finally) || size(self.finally) == 0 || has(self.tasks) && size(self.tasks) > 0",message="these run after tasks, and there are none: move one of them there",fieldPath=".finally"
	Spec PipelineSpec `json:"spec,omitempty"`
}

// PipelineSpec is what a Pipeline takes, runs and leaves.
type PipelineSpec struct {
	// A name for people; may hold $(params.<name>).
	DisplayName string `json:"displayName,omitempty"`
	// What the pipeline is for, for people.
	Description string `json:"description,omitempty"`
	// What a run may or must set.
	Params ParamSpecs `json:"params,omitempty"`
	// The graph. A task runs after those that it names in runAfter and those whose
	// results it refers to.
	Tasks []PipelineTask `json:"tasks,omitempty"`
	// Tasks that run when the graph has ended, well or not, all at once.
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.runAfter) || size(t.runAfter) == 0)",message="tasks of finally have no order among themselves, and run after all others: leave out runAfter"
	Finally []PipelineTask `json:"finally,omitempty"`
	// Volumes that a run must or may provide.
	Workspaces []PipelineWorkspaceDeclaration `json:"workspaces,omitempty"`
	// What the run leaves, out of the results of its tasks.
	Results []PipelineResult `json:"results,omitempty"`
}

// PipelineWorkspaceDeclaration is a volume that a Pipeline asks of whoever runs it.
type PipelineWorkspaceDeclaration struct {
	// What the tasks of the pipeline call the workspace.
	Name string `json:"name"`
	// What the pipeline expects to find there, or leaves there.
	Description string `json:"description,omitempty"`
	// A run may leave this workspace out; $(workspaces.<name>.bound) tells.
	Optional bool `json:"optional,omitempty"`
}

// PipelineResult declares one result of a Pipeline.
type PipelineResult struct {
	// What the result is called in the status of a run.
	Name string `json:"name"`
	// string, array or object; string when left out.
	// +kubebuilder:validation:Enum="";string;array;object
	Type ParamType `json:"type,omitempty"`
	// What the result is, for people.
	Description string `json:"description,omitempty"`
	// Where the value comes from: text with $(tasks.<task>.results.<name>) in it,
	// or an array or object of such texts.
	Value ParamValue `json:"value"`
}

// PipelineTask is one node of the graph: which task to run, with what, and when.
// Exactly one of taskRef, taskSpec, pipelineRef and pipelineSpec is given.
//
// +kubebuilder:validation:XValidation:rule="(has(self.taskRef) ? 1 : 0) + (has(self.taskSpec) ? 1 : 0) + (has(self.pipelineRef) ? 1 : 0) + (has(self.pipelineSpec) ? 1 : 0) == 1",message="give exactly one of taskRef and taskSpec (or pipelineRef and pipelineSpec)"
// +kubebuilder:validation:XValidation:rule="!has(self.onError) || self.onError != 'continue' || !has(self.retries) || self.retries <= 0",message="a task whose failure does not matter is not tried again: leave out retries, or onError",fieldPath=".onError"
type PipelineTask struct {
	// What other tasks of the pipeline call this one; a DNS label, unique in the pipeline.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name,omitempty"`
	// A name for people; may hold variables.
	DisplayName string `json:"displayName,omitempty"`
	// What the task is for, for people.
	Description string `json:"description,omitempty"`
	// The Task to run, by name or through a resolver; or, by another kind and
	// apiVersion, what a custom-task controller is to run.
	// +kubebuilder:validation:XValidation:rule="!has(self.name) || self.name == \"\" || !has(self.resolver) || self.resolver == \"\"",message="name a Task of the namespace, or a resolver that is told by params what to fetch, but not both",fieldPath=".name",reason=FieldValueForbidden
	TaskRef *TaskRef `json:"taskRef,omitempty"`
	// The task to run, given here.
	// +kubebuilder:validation:XValidation:rule="!has(self.apiVersion) || self.apiVersion == \"\" || has(self.kind) && self.kind != \"\"",message="say which kind of that apiVersion the custom task is",fieldPath=".kind",reason=FieldValueRequired
	TaskSpec *EmbeddedTask `json:"taskSpec,omitempty"`
	// The Pipeline to run as a task, by name or through a resolver. Needs the
	// feature flag enable-api-fields=alpha.
	PipelineRef *PipelineRef `json:"pipelineRef,omitempty"`
	// The pipeline to run as a task, given here. Needs the feature flag enable-api-fields=alpha.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	PipelineSpec *PipelineSpec `json:"pipelineSpec,omitempty"`
	// Run the task only if all of these hold; else it is skipped.
	When WhenExpressions `json:"when,omitempty"`
	// How often a failed run is tried again; 0 when left out.
	Retries int `json:"retries,omitempty"`
	// Tasks that must have ended before this one begins.
	RunAfter []string `json:"runAfter,omitempty"`
	// Values for the parameters of the task.
	Params Params `json:"params,omitempty"`
	// Run the task once for each combination of some parameters.
	Matrix *Matrix `json:"matrix,omitempty"`
	// Which workspaces of the pipeline the task sees, and under which names.
	Workspaces []WorkspacePipelineTaskBinding `json:"workspaces,omitempty"`
	// How long one attempt may take, such as 90s or 1h30m.
	// +kubebuilder:validation:Type=string
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// What becomes of the pipeline when the task fails: stopAndFail (when left out) or
	// continue, or a reference to a parameter.
	// +kubebuilder:validation:Pattern=`^(|continue|stopAndFail|\$\(params.*)$`
	OnError PipelineTaskOnErrorType `json:"onError,omitempty"`
}

// PipelineTaskOnErrorType says what becomes of the pipeline when a task fails.
type PipelineTaskOnErrorType string

// What a pipeline task's onError may be.
const (
	PipelineTaskStopAndFail PipelineTaskOnErrorType = "stopAndFail"
	PipelineTaskContinue    PipelineTaskOnErrorType = "continue"
)

// EmbeddedTask is a task given inside a pipeline: the fields of a TaskSpec, or,
// with apiVersion and kind, a spec for a custom-task controller.
type EmbeddedTask struct {
	// The group and version of a custom task; none for a task of steps.
	APIVersion string `json:"apiVersion,omitempty"`
	// The kind of a custom task; none for a task of steps.
	Kind string `json:"kind,omitempty"`
	// The spec of a custom task, in that controller's own words.
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Spec json.RawMessage `json:"spec,omitempty"`
	// Labels and annotations for the run that is made.
	Metadata PipelineTaskMetadata `json:"metadata,omitzero"`

	TaskSpec `json:",inline"`
}

// IsCustom tells whether a custom-task controller is to run the task: it has an
// apiVersion and a kind of its own.
func (t *EmbeddedTask) IsCustom() bool {
	return t.APIVersion != "" && t.Kind != ""
}

// PipelineTaskMetadata is what the object made for a task carries besides what
// its PipelineRun hands on.
type PipelineTaskMetadata struct {
	// Labels, which win over those of the PipelineRun.
	Labels map[string]string `json:"labels,omitempty"`
	// Annotations, which win over those of the PipelineRun.
	Annotations map[string]string `json:"annotations,omitempty"`
}

// PipelineRef names a Pipeline: by name in the namespace of the run, or through
// a resolver, not both.
type PipelineRef struct {
	// Name of a Pipeline in the namespace of the run.
	Name string `json:"name,omitempty"`
	// The group and version of the kind Pipeline; tekton.dev/v1 when left out.
	APIVersion string `json:"apiVersion,omitempty"`

	ResolverRef `json:",inline"`
}

// Matrix runs a task once for each combination of the values of some parameters.
type Matrix struct {
	// Array parameters, of which each run takes one element each.
	Params Params `json:"params,omitempty"`
	// Further combinations, and additions to those of params that they match.
	Include []MatrixInclude `json:"include,omitempty"`
}

// MatrixInclude is one combination, or what to add to some.
type MatrixInclude struct {
	// What the combination is for, for people.
	Name string `json:"name,omitempty"`
	// String parameters. Those that are in the matrix too say which combinations
	// the others are added to.
	Params Params `json:"params,omitempty"`
}

// WorkspacePipelineTaskBinding shows a task a workspace of its pipeline.
type WorkspacePipelineTaskBinding struct {
	// What the task calls the workspace.
	Name string `json:"name"`
	// What the pipeline calls it; the same when left out.
	Workspace string `json:"workspace,omitempty"`
	// A directory of the volume to mount instead of its root; may hold variables.
	SubPath string `json:"subPath,omitempty"`
}
