package crds

import corev1 "k8s.io/api/core/v1"

// Sidecar is a container that runs beside the steps.
//
// +kubebuilder:validation:XValidation:rule="!has(self.script) || self.script == \"\" || !has(self.command) || size(self.command) == 0",message="a script is what the sidecar runs: leave out command, or script",fieldPath=".script",reason=FieldValueForbidden
type Sidecar struct {
	// Names the container sidecar-<name>; a DNS label, unique in the task.
	Name string `json:"name,omitempty"`
	// The image to run.
	Image string `json:"image,omitempty"`
	// The program and its first arguments; the image's own when left out. Excludes script.
	Command []string `json:"command,omitempty"`
	// Further arguments.
	Args []string `json:"args,omitempty"`
	// The directory to start in.
	WorkingDir string `json:"workingDir,omitempty"`
	// Ports that the sidecar listens on.
	Ports []corev1.ContainerPort `json:"ports,omitempty"`
	// ConfigMaps and Secrets whose keys become environment variables.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Environment variables.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// CPU, memory and other resources that the sidecar requests and may use.
	ComputeResources corev1.ResourceRequirements `json:"computeResources,omitzero"`
	// Where the sidecar sees volumes of the pod.
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Block devices that the sidecar sees.
	VolumeDevices []corev1.VolumeDevice `json:"volumeDevices,omitempty"`
	// How to tell that the sidecar is alive; it is restarted when not.
	LivenessProbe *corev1.Probe `json:"livenessProbe,omitempty"`
	// How to tell that the sidecar is ready; the first step waits for it.
	ReadinessProbe *corev1.Probe `json:"readinessProbe,omitempty"`
	// How to tell that the sidecar has started; the other probes wait for it.
	StartupProbe *corev1.Probe `json:"startupProbe,omitempty"`
	// What to run after the container starts and before it stops.
	Lifecycle *corev1.Lifecycle `json:"lifecycle,omitempty"`
	// The file that the container may leave its last words in.
	TerminationMessagePath string `json:"terminationMessagePath,omitempty"`
	// Whether the end of the log may stand in for that file: File or FallbackToLogsOnError.
	TerminationMessagePolicy corev1.TerminationMessagePolicy `json:"terminationMessagePolicy,omitempty"`
	// Always, IfNotPresent or Never.
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// User, privileges and the like of this container.
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// Keep standard input open.
	Stdin bool `json:"stdin,omitempty"`
	// Close standard input after the first client has gone.
	StdinOnce bool `json:"stdinOnce,omitempty"`
	// Give the container a terminal; needs stdin.
	TTY bool `json:"tty,omitempty"`
	// A text to run instead of a command; its first line may name the interpreter (#!),
	// else it is /bin/sh with "set -e".
	Script string `json:"script,omitempty"`
	// Workspaces that only the steps and sidecars that name them can see.
	Workspaces []WorkspaceUsage `json:"workspaces,omitempty"`
	// Always, which holds for every sidecar: it is started before the steps,
	// restarted when it ends, and stopped by the kubelet after them.
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy,omitempty"`
}
