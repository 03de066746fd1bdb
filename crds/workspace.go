package crds

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
)

// WorkspaceDeclaration is a directory that a Task asks of whoever runs it.
type WorkspaceDeclaration struct {
	// What the workspace is called in $(workspaces.<name>.path).
	Name string `json:"name"`
	// What the task expects to find there, or leaves there.
	Description string `json:"description,omitempty"`
	// Where the steps see it; /workspace/<name> when left out.
	MountPath string `json:"mountPath,omitempty"`
	// Mount it without the right to write.
	ReadOnly bool `json:"readOnly,omitempty"`
	// A run may leave this workspace out; $(workspaces.<name>.bound) tells.
	Optional bool `json:"optional,omitempty"`
}

// WorkspaceBinding gives a declared workspace its volume: exactly one source.
//
// +kubebuilder:validation:XValidation:rule="(has(self.volumeClaimTemplate) ? 1 : 0) + (has(self.persistentVolumeClaim) ? 1 : 0) + (has(self.emptyDir) ? 1 : 0) + (has(self.configMap) ? 1 : 0) + (has(self.secret) ? 1 : 0) + (has(self.projected) ? 1 : 0) + (has(self.csi) ? 1 : 0) == 1",message="give exactly one of volumeClaimTemplate, persistentVolumeClaim, emptyDir, configMap, secret, projected and csi"
// +kubebuilder:validation:XValidation:rule="!has(self.secret) || has(self.secret.secretName) && self.secret.secretName != \"\"",message="name the Secret in secretName",fieldPath=".secret.secretName",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="!has(self.configMap) || has(self.configMap.name) && self.configMap.name != \"\"",message="name the ConfigMap in name",fieldPath=".configMap.name",reason=FieldValueRequired
type WorkspaceBinding struct {
	// The declared name.
	Name string `json:"name"`
	// A directory of the volume to mount instead of its root.
	SubPath string `json:"subPath,omitempty"`
	// A claim that is made for this run and deleted with it.
	VolumeClaimTemplate *corev1.PersistentVolumeClaim `json:"volumeClaimTemplate,omitempty"`
	// A claim that exists in the namespace of the run.
	PersistentVolumeClaim *corev1.PersistentVolumeClaimVolumeSource `json:"persistentVolumeClaim,omitempty"`
	// A directory that lives as long as the pod.
	EmptyDir *corev1.EmptyDirVolumeSource `json:"emptyDir,omitempty"`
	// The keys of a ConfigMap as files.
	ConfigMap *corev1.ConfigMapVolumeSource `json:"configMap,omitempty"`
	// The keys of a Secret as files.
	Secret *corev1.SecretVolumeSource `json:"secret,omitempty"`
	// Several sources in one directory.
	Projected *corev1.ProjectedVolumeSource `json:"projected,omitempty"`
	// A volume that a CSI driver makes for the pod.
	CSI *corev1.CSIVolumeSource `json:"csi,omitempty"`
}

// WorkspaceUsage keeps a workspace to the steps and sidecars that name it.
//
// Its schema lets other fields pass, for the sake of mountpath: see UnmarshalJSON.
//
// +kubebuilder:pruning:PreserveUnknownFields
type WorkspaceUsage struct {
	// The declared name.
	Name string `json:"name"`
	// Where this step or sidecar sees it; as declared when left out.
	MountPath string `json:"mountPath,omitempty"`
}

// UnmarshalJSON reads mountpath as mountPath: people write so, an example of Tekton's
// among them, and it has always worked, because a decoder on the way did not look at
// capitals. Ours look (see wire.Decode), as those of the API server do.
func (u *WorkspaceUsage) UnmarshalJSON(raw []byte) error {
	type plain WorkspaceUsage
	return json.Unmarshal(raw, (*plain)(u)) // which does not look, either
}
