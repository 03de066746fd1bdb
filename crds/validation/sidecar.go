package validation

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// resultsSidecar is the container that Tekton's controller, and ours, adds for results
// that are too large for termination messages.
const resultsSidecar = "tekton-log-results"

// sidecars looks at what runs beside the steps. Much of it Tekton leaves to the API
// server, which refuses the pod.
func (r *report) sidecars(spec *crds.TaskSpec, at *field.Path) {
	taken, workspaces := map[string]bool{}, declaredWorkspaces(spec)
	for i := range spec.Sidecars {
		sidecar, at := &spec.Sidecars[i], at.Index(i)
		r.sidecarName(sidecar.Name, at.Child("name"), taken)
		if sidecar.Image == "" {
			r.required(at.Child("image"), "name the image to run")
		}
		if sidecar.Script != "" && len(sidecar.Command) > 0 {
			r.forbidden(at.Child("script"), "a sidecar runs a script or a command, and this one has both: leave one of them")
		}
		if policy := sidecar.RestartPolicy; policy != nil && *policy != corev1.ContainerRestartPolicyAlways {
			r.fails(at.Child("restartPolicy"), *policy, "a sidecar is started again when it ends: write %s, or leave it out", corev1.ContainerRestartPolicyAlways)
		}
		r.laterMounts(sidecar.VolumeMounts, at.Child("volumeMounts"))
		r.workspaceUsages(sidecar.Workspaces, workspaces, at.Child("workspaces"))
	}
}

func (r *report) sidecarName(name string, at *field.Path, taken map[string]bool) {
	container := "sidecar-" + name
	container = container[:min(len(container), validation.DNS1123LabelMaxLength)]
	switch {
	case name == "":
		return
	case name == resultsSidecar:
		r.invalid(at, name, "the controller has a container of that name: choose another")
	case len(validation.IsDNS1123Label(container)) > 0:
		r.fails(at, name, "it becomes the name of a container, and can have small letters, digits and -, with a letter or digit at both ends: choose another")
	case taken[container]:
		r.fails(at, name, "another sidecar's container has the name: choose another")
	}
	taken[container] = true
}
