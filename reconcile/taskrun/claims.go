package taskrun

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A workspace that is bound to a template gets a PersistentVolumeClaim of its own,
// which is the run's and goes with it. Its name follows from the run, as that of the
// pod does, so that making it twice is making it once; all attempts share it.

// claimName has Tekton's shape: the template's name, and ten digits.
func claimName(run types.UID, b crds.WorkspaceBinding) string {
	name := b.VolumeClaimTemplate.Name
	if name == "" {
		name = "pvc"
	}
	sum := sha256.Sum256([]byte(string(run) + "/" + b.Name))
	return name + "-" + hex.EncodeToString(sum[:])[:10]
}

// bindTemplates puts claims in the place of templates.
func bindTemplates(run types.UID, bindings []crds.WorkspaceBinding) []crds.WorkspaceBinding {
	bound := make([]crds.WorkspaceBinding, len(bindings))
	for i, b := range bindings {
		if b.VolumeClaimTemplate != nil {
			b.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(run, b)}
		}
		bound[i] = b
	}
	return bound
}

// claims are the claims that the pod needs and that nobody else makes.
func (w workspaces) claims(run *crds.TaskRun) []*corev1.PersistentVolumeClaim {
	var claims []*corev1.PersistentVolumeClaim
	for _, b := range w.bindings {
		if template := b.VolumeClaimTemplate; template != nil {
			claims = append(claims, &corev1.PersistentVolumeClaim{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
				ObjectMeta: metav1.ObjectMeta{
					Namespace: run.Namespace, Name: b.PersistentVolumeClaim.ClaimName,
					Labels: template.Labels, Annotations: maps.Clone(template.Annotations),
					OwnerReferences: []metav1.OwnerReference{owner(run)},
				},
				Spec: template.Spec,
			})
		}
	}
	return claims
}
