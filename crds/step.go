package crds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// OnErrorType says what becomes of the run when a step exits with an error.
type OnErrorType string

// What a step's onError may be, apart from a reference to a parameter.
const (
	OnErrorStopAndFail OnErrorType = "stopAndFail"
	OnErrorContinue    OnErrorType = "continue"
)

// Step is one container of a Task. It starts when the step before has ended.
//
// +kubebuilder:validation:XValidation:rule="!has(self.script) || self.script == \"\" || !has(self.command) || size(self.command) == 0",message="a script is what the step runs: leave out command, or script",fieldPath=".script",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.ref) || (!has(self.image) || self.image == \"\") && (!has(self.script) || self.script == \"\") && (!has(self.command) || size(self.command) == 0) && (!has(self.args) || size(self.args) == 0)",message="the StepAction brings image, command, args and script: leave them out, or ref",reason=FieldValueForbidden
type Step struct {
	// Names the container step-<name>; a DNS label, unique in the task.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	Name string `json:"name,omitempty"`
	// A name for people.
	DisplayName string `json:"displayName,omitempty"`
	// The image to run.
	Image string `json:"image,omitempty"`
	// The program and its first arguments; the image's own when left out. Excludes script.
	Command []string `json:"command,omitempty"`
	// Further arguments. An array parameter may stand for several: $(params.<name>[*]).
	Args []string `json:"args,omitempty"`
	// The directory to start in.
	WorkingDir string `json:"workingDir,omitempty"`
	// ConfigMaps and Secrets whose keys become environment variables.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Environment variables.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// CPU, memory and other resources that the step requests and may use.
	ComputeResources corev1.ResourceRequirements `json:"computeResources,omitzero"`
	// Where the step sees volumes of the pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Block devices that the step sees.
	VolumeDevices []corev1.VolumeDevice `json:"volumeDevices,omitempty"`
	// Always, IfNotPresent or Never.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// User, privileges and the like of this container.
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// A text to run instead of a command; its first line may name the interpreter (#!),
	// else it is /bin/sh with "set -e".
	Script string `json:"script,omitempty"`
	// How long the step may take, such as 90s or 1h30m; no limit when left out.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^\+?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
	// Workspaces that only the steps and sidecars that name them can see.
	Workspaces []WorkspaceUsage `json:"workspaces,omitempty"`
	// stopAndFail (when left out) or continue, or a reference to a parameter.
	// +kubebuilder:validation:Pattern=`^(|continue|stopAndFail|\$\(params.*)$`
	OnError OnErrorType `json:"onError,omitempty"`
	// Where to copy what the step writes to standard output.
	StdoutConfig *StepOutputConfig `json:"stdoutConfig,omitempty"`
	// Where to copy what the step writes to standard error.
	StderrConfig *StepOutputConfig `json:"stderrConfig,omitempty"`
	// The StepAction to run instead of an image given here.
	Ref *Ref `json:"ref,omitempty"`
	// Values for the parameters of that StepAction.
	Params Params `json:"params,omitempty"`
	// What the step writes to $(step.results.<name>.path).
	Results []StepResult `json:"results,omitempty"`
	// Run the step only if all of these hold; else it is skipped and the next one runs.
	When WhenExpressions `json:"when,omitempty"`
}

// StepOutputConfig says where one output stream of a step is copied to.
type StepOutputConfig struct {
	// The file to write; a relative one is relative to the working directory.
	Path string `json:"path,omitempty"`
}

// StepResult declares one result of a step.
type StepResult struct {
	// What the result is called in $(step.results.<name>.path).
	Name string `json:"name"`
	// string, array or object; string when left out.
	// +kubebuilder:validation:Enum="";string;array;object
	Type ParamType `json:"type,omitempty"`
	// The keys of an object result.
	Properties map[string]PropertySpec `json:"properties,omitempty"`
	// What the result is, for people.
	Description string `json:"description,omitempty"`
}

// StepTemplate holds values that each step of a Task starts from.
type StepTemplate struct {
	// The image of steps that name none.
	Image string `json:"image,omitempty"`
	// The command of steps that give none.
	Command []string `json:"command,omitempty"`
	// The arguments of steps that give none.
	Args []string `json:"args,omitempty"`
	// The directory that steps start in if they name none.
	WorkingDir string `json:"workingDir,omitempty"`
	// ConfigMaps and Secrets whose keys become environment variables.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Environment variables; a step's own of the same name wins.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// CPU, memory and other resources of steps that say nothing else.
	ComputeResources corev1.ResourceRequirements `json:"computeResources,omitzero"`
	// Where each step sees volumes of the pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Block devices that each step sees.
	VolumeDevices []corev1.VolumeDevice `json:"volumeDevices,omitempty"`
	// Always, IfNotPresent or Never.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// User, privileges and the like; a step's own fields win one by one.
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
}
