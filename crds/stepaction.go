package crds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StepAction is one step for Tasks to use by name. Alone of the kinds of this
// package it is tekton.dev/v1beta1 (and v1alpha1, of the same shape).
//
// +kubebuilder:storageversion
// +kubebuilder:resource:path=stepactions,singular=stepaction,scope=Namespaced,categories={tekton,tekton-pipelines}
type StepAction struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What a step that refers to this StepAction runs.
	Spec StepActionSpec `json:"spec,omitempty"`
}

// StepActionSpec is what a step that refers to a StepAction runs. Its variables
// are its own parameters and results; it knows nothing of those of the task.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) && self.image != \"\"",message="name the image to run",fieldPath=".image",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.script) || self.script == \"\" || !has(self.command) || size(self.command) == 0",message="a script is what the action runs: leave out command, or script",fieldPath=".script",reason=FieldValueForbidden
type StepActionSpec struct {
	// What the action is for, for people.
	Description string `json:"description,omitempty"`
	// The image to run.
	Image string `json:"image,omitempty"`
	// The program and its first arguments; the image's own when left out. Excludes script.
	Command []string `json:"command,omitempty"`
	// Further arguments. An array parameter may stand for several: $(params.<name>[*]).
	Args []string `json:"args,omitempty"`
	// Environment variables.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// A text to run instead of a command; its first line may name the interpreter (#!),
	// else it is /bin/sh with "set -e".
	Script string `json:"script,omitempty"`
	// The directory to start in.
	WorkingDir string `json:"workingDir,omitempty"`
	// What a step may or must set.
	Params ParamSpecs `json:"params,omitempty"`
	// What the action writes to $(step.results.<name>.path).
	Results []StepResult `json:"results,omitempty"`
	// User, privileges and the like of the container.
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// Where the action sees volumes of the pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
}
