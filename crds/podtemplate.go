package crds

import corev1 "k8s.io/api/core/v1"

// PodTemplate is what a run may say about its pod.
type PodTemplate struct {
	// Labels that a node must have.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Environment variables of every container; they win over those of the steps.
	Env []corev1.EnvVar `json:"env,omitempty"`
	// Taints of nodes that the pod may ignore.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// Which nodes the pod prefers or needs, and beside which pods.
	Affinity *corev1.Affinity `json:"affinity,omitempty"`
	// User, groups and the like of the whole pod.
	SecurityContext *corev1.PodSecurityContext `json:"securityContext,omitempty"`
	// Further volumes of the pod.
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// The RuntimeClass to run the pod with.
	RuntimeClassName *string `json:"runtimeClassName,omitempty"`
	// Whether the pod gets a token for the API server.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty"`
	// ClusterFirst, ClusterFirstWithHostNet, Default or None.
	DNSPolicy *corev1.DNSPolicy `json:"dnsPolicy,omitempty"`
	// Name servers, search domains and options, added to those of the policy.
	DNSConfig *corev1.PodDNSConfig `json:"dnsConfig,omitempty"`
	// Whether the pod gets environment variables about services.
	EnableServiceLinks *bool `json:"enableServiceLinks,omitempty"`
	// The PriorityClass of the pod.
	PriorityClassName *string `json:"priorityClassName,omitempty"`
	// The scheduler to place the pod.
	SchedulerName string `json:"schedulerName,omitempty"`
	// Secrets to pull images with.
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// Further lines of the pod's hosts file.
	HostAliases []corev1.HostAlias `json:"hostAliases,omitempty"`
	// Use the network of the node.
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// false runs the pod in a user namespace of its own.
	HostUsers *bool `json:"hostUsers,omitempty"`
	// How pods are to be spread over nodes and zones.
	TopologySpreadConstraints []corev1.TopologySpreadConstraint `json:"topologySpreadConstraints,omitempty"`
}
