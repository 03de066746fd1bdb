package validation

import (
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// workspaceBindings looks at the volumes that a run gives.
func (r *report) workspaceBindings(bindings []crds.WorkspaceBinding, at *field.Path) {
	twice(bindings, func(b crds.WorkspaceBinding) string { return strings.ToLower(b.Name) }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), bindings[i].Name, "workspace %q is bound before, and names that differ in capitals only are one: leave one of them", name)
	})
	for i, b := range bindings {
		r.workspaceBinding(b, at.Index(i))
	}
}

func (r *report) workspaceBinding(b crds.WorkspaceBinding, at *field.Path) {
	if b.Name == "" {
		r.warn(at.Child("name"), "it is empty, and no task declares such a workspace: write the name that the task declares")
	}
	sources := b.Sources()
	switch {
	case len(sources) == 0:
		r.required(at, "give the workspace a volume: emptyDir, persistentVolumeClaim, volumeClaimTemplate, configMap, secret, projected or csi")
	case len(sources) > 1:
		r.forbidden(at.Child(sources[1]), "a workspace has one volume, and this one has %s: leave one of them", strings.Join(sources, " and "))
	default:
		r.workspaceSource(b, at)
	}
}

// workspaceSource looks at the one source that there is.
func (r *report) workspaceSource(b crds.WorkspaceBinding, at *field.Path) {
	switch {
	case b.PersistentVolumeClaim != nil && b.PersistentVolumeClaim.ClaimName == "":
		r.required(at.Child("persistentVolumeClaim", "claimName"), "name a claim of the namespace")
	case b.ConfigMap != nil && b.ConfigMap.Name == "":
		r.required(at.Child("configMap", "name"), "name a ConfigMap of the namespace")
	case b.Secret != nil && b.Secret.SecretName == "":
		r.required(at.Child("secret", "secretName"), "name a Secret of the namespace")
	case b.Projected != nil && len(b.Projected.Sources) == 0:
		r.required(at.Child("projected", "sources"), "give at least one source")
	case b.CSI != nil && b.CSI.Driver == "":
		r.required(at.Child("csi", "driver"), "name the driver")
	}
}

// workspaceDeclarations looks at what a task asks for. Nothing else may be mounted where
// a workspace is.
func (r *report) workspaceDeclarations(spec *crds.TaskSpec, at *field.Path) {
	taken := map[string]bool{}
	for _, mount := range mountsOf(spec) {
		taken[path.Clean(mount.MountPath)] = true
	}
	names := map[string]bool{}
	for i, w := range spec.Workspaces {
		if names[w.Name] {
			r.invalid(at.Index(i).Child("name"), w.Name, "the workspace is declared before: leave one declaration")
		}
		names[w.Name] = true
		mountPath := path.Clean(w.Path())
		if taken[mountPath] {
			r.invalid(at.Index(i).Child("mountPath"), mountPath, "something else is mounted there: choose another mountPath")
		}
		taken[mountPath] = true
		if isOurs(mountPath) {
			r.fails(at.Index(i).Child("mountPath"), mountPath, "%s is for the controller's own files: choose another mountPath", mountPath)
		}
	}
}

// mountsOf are the volume mounts of all steps.
func mountsOf(spec *crds.TaskSpec) []corev1.VolumeMount {
	var mounts []corev1.VolumeMount
	for _, step := range spec.Steps {
		mounts = append(mounts, step.VolumeMounts...)
	}
	if spec.StepTemplate != nil {
		mounts = append(mounts, spec.StepTemplate.VolumeMounts...)
	}
	return mounts
}

// workspaceUsages: one that nobody declares would be missing without a word.
func (r *report) workspaceUsages(usages []crds.WorkspaceUsage, declared map[string]bool, at *field.Path) {
	for i, usage := range usages {
		if !declared[usage.Name] {
			r.invalid(at.Index(i).Child("name"), usage.Name, "the task declares no such workspace: declare it in its workspaces")
		}
		if usage.MountPath != "" && isOurs(usage.MountPath) {
			r.fails(at.Index(i).Child("mountPath"), usage.MountPath, "%s is for the controller's own files: choose another mountPath", usage.MountPath)
		}
	}
}
