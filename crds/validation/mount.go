package validation

import (
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// volumePrefix begins the names of the volumes that the controller adds to a pod.
const volumePrefix = "tekton-internal-"

// mounts keeps what is under /tekton to the controller: a volume over one of its
// directories would have the step wait for ever, or tell nothing.
func (r *report) mounts(mounts []corev1.VolumeMount, at *field.Path) {
	for i, mount := range mounts {
		if underTekton(mount.MountPath) {
			r.invalid(at.Index(i).Child("mountPath"), mount.MountPath, "what is under /tekton is for the controller's own files, but for %s: choose another mountPath", crds.PathHome)
		}
		if strings.HasPrefix(mount.Name, volumePrefix) {
			r.invalid(at.Index(i).Child("name"), mount.Name, "volumes of that name are the controller's own: name one of the task's volumes")
		}
	}
}

// laterMounts are those of sidecars and StepActions, which Tekton leaves to the API
// server.
func (r *report) laterMounts(mounts []corev1.VolumeMount, at *field.Path) {
	for i, mount := range mounts {
		switch {
		case underTekton(mount.MountPath):
			r.fails(at.Index(i).Child("mountPath"), mount.MountPath, "what is under /tekton is for the controller's own files, but for %s: choose another mountPath", crds.PathHome)
		case strings.HasPrefix(mount.Name, volumePrefix):
			r.fails(at.Index(i).Child("name"), mount.Name, "volumes of that name are the controller's own: name one of the task's volumes")
		}
	}
}

// InContainer is the path at which a mount will be: the kubelet begins at the root, and
// /x/../tekton is /tekton, too (TOB-TKN-4 of Tekton's audit).
func InContainer(mountPath string) string { return path.Clean("/" + mountPath) }

func underTekton(mountPath string) bool {
	at := InContainer(mountPath)
	return strings.HasPrefix(at, "/tekton/") && at != crds.PathHome && !strings.HasPrefix(at, crds.PathHome+"/")
}

// isOurs tells of paths that no workspace may be mounted over or into. Tekton lets
// workspaces have the rest of /tekton, too.
func isOurs(mountPath string) bool {
	ours := []string{
		crds.PathBin, crds.PathRun, crds.PathSteps, crds.PathResults, crds.PathScripts,
		crds.PathCredentials, crds.PathCredentialSecrets, crds.PathTermination,
	}
	at := InContainer(mountPath)
	return slices.ContainsFunc(ours, func(dir string) bool { return at == dir || strings.HasPrefix(at, dir+"/") })
}

// volumes are those that a task adds to its pod.
func (r *report) volumes(volumes []corev1.Volume, at *field.Path) {
	twice(volumes, func(v corev1.Volume) string { return v.Name }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), name, "there is a volume of that name before: choose another")
	})
}
