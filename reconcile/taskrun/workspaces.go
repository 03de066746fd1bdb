package taskrun

import (
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// workspaces pairs what a task declares with what a run binds, both with their
// variables replaced.
type workspaces struct {
	run      types.UID
	declared []crds.WorkspaceDeclaration
	bindings []crds.WorkspaceBinding // those to a template name their claim, too
	wrong    error                   // a binding that is none
}

// newWorkspaces replaces the variables of both sides. An embedded task need not
// declare what the run binds (Tekton's propagated workspaces).
func newWorkspaces(run *crds.TaskRun, spec *crds.TaskSpec, v variables.Set, c Config) (workspaces, error) {
	declared := slices.Clone(spec.Workspaces)
	for i := range declared {
		declared[i].MountPath = v.Text(declared[i].MountPath)
	}
	w, err := bind(run, declared, v, c)
	if err != nil || run.Spec.TaskSpec == nil {
		return w, err
	}
	for _, b := range w.bindings {
		if _, ok := w.declaration(b.Name); !ok {
			w.declared = append(w.declared, crds.WorkspaceDeclaration{Name: b.Name})
		}
	}
	return w, nil
}

// bind takes declarations whose variables have been replaced.
func bind(run *crds.TaskRun, declared []crds.WorkspaceDeclaration, v variables.Set, c Config) (workspaces, error) {
	w := workspaces{run: run.UID, declared: declared}
	var err error
	if w.bindings, err = variables.Apply(v, bindUnbound(declared, run.Spec.Workspaces, c)); err != nil {
		return w, fmt.Errorf("workspaces of the run: %w", err)
	}
	for _, b := range w.bindings {
		if named := b.Sources(); len(named) != 1 && w.wrong == nil {
			w.wrong = fmt.Errorf("binding %q is invalid: it needs exactly one kind of volume and has %d %v", b.Name, len(named), named)
		}
	}
	w.bindings = bindTemplates(run.UID, w.bindings)
	return w, nil
}

func (w workspaces) declaration(name string) (crds.WorkspaceDeclaration, bool) {
	i := slices.IndexFunc(w.declared, func(d crds.WorkspaceDeclaration) bool { return d.Name == name })
	if i < 0 {
		return crds.WorkspaceDeclaration{}, false
	}
	return w.declared[i], true
}

func (w workspaces) binding(name string) (crds.WorkspaceBinding, bool) {
	i := slices.IndexFunc(w.bindings, func(b crds.WorkspaceBinding) bool { return b.Name == name })
	if i < 0 {
		return crds.WorkspaceBinding{}, false
	}
	return w.bindings[i], true
}

// check compares what the run binds with what the task declares.
func (w workspaces) check() error {
	if w.wrong != nil {
		return w.wrong
	}
	for _, d := range w.declared {
		if _, bound := w.binding(d.Name); !bound && !d.Optional {
			return fmt.Errorf("declared workspace %q is required but has not been bound", d.Name)
		}
	}
	for _, b := range w.bindings {
		if _, ok := w.declaration(b.Name); !ok {
			return fmt.Errorf("workspace binding %q does not match any declared workspace", b.Name)
		}
	}
	return nil
}

// volumes gives each bound workspace its volume. A claim that is bound twice is
// one volume, since a pod cannot attach it twice; it is read-only if all of its
// bindings are, and the mount is where one of them alone is.
func (w workspaces) volumes() map[string]corev1.Volume {
	volumes := make(map[string]corev1.Volume, len(w.bindings))
	claims := map[string]corev1.Volume{}
	for _, b := range w.bindings {
		volume := corev1.Volume{Name: volumeName(w.run, b.Name), VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: b.PersistentVolumeClaim,
			EmptyDir:              b.EmptyDir,
			ConfigMap:             b.ConfigMap,
			Secret:                b.Secret,
			Projected:             b.Projected,
			CSI:                   b.CSI,
		}}
		if claim := b.PersistentVolumeClaim; claim != nil {
			if first, ok := claims[claim.ClaimName]; ok {
				volume = first
			}
			volume.PersistentVolumeClaim = w.claim(claim.ClaimName)
			claims[claim.ClaimName] = volume
		}
		volumes[b.Name] = volume
	}
	return volumes
}

func (w workspaces) claim(name string) *corev1.PersistentVolumeClaimVolumeSource {
	claim := corev1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: true}
	for _, b := range w.bindings {
		if b.PersistentVolumeClaim != nil && b.PersistentVolumeClaim.ClaimName == name {
			claim.ReadOnly = claim.ReadOnly && b.PersistentVolumeClaim.ReadOnly
		}
	}
	return &claim
}

// podVolumes are the volumes of the bindings, each once, in their order.
func (w workspaces) podVolumes() []corev1.Volume {
	byWorkspace := w.volumes()
	var volumes []corev1.Volume
	for _, b := range w.bindings {
		volume := byWorkspace[b.Name]
		if !slices.ContainsFunc(volumes, func(v corev1.Volume) bool { return v.Name == volume.Name }) {
			volumes = append(volumes, volume)
		}
	}
	return volumes
}

// mounts are those of one step or sidecar, which names these. A workspace that
// any of them names in its own list is seen by those that name it only; every
// other one is seen by all.
func (w workspaces) mounts(spec *crds.TaskSpec, own []crds.WorkspaceUsage) []corev1.VolumeMount {
	volumes := w.volumes()
	var mounts []corev1.VolumeMount
	for _, b := range w.bindings {
		usage, named := usageOf(own, b.Name)
		if !named && isolated(spec, b.Name) {
			continue
		}
		d, _ := w.declaration(b.Name)
		path := d.Path()
		if usage.MountPath != "" {
			path = usage.MountPath
		}
		mounts = append(mounts, corev1.VolumeMount{
			Name:      volumes[b.Name].Name,
			MountPath: path,
			SubPath:   b.SubPath,
			ReadOnly:  d.ReadOnly || b.PersistentVolumeClaim != nil && b.PersistentVolumeClaim.ReadOnly,
		})
	}
	return mounts
}

func usageOf(usages []crds.WorkspaceUsage, workspace string) (crds.WorkspaceUsage, bool) {
	i := slices.IndexFunc(usages, func(u crds.WorkspaceUsage) bool { return u.Name == workspace })
	if i < 0 {
		return crds.WorkspaceUsage{}, false
	}
	return usages[i], true
}

func isolated(spec *crds.TaskSpec, workspace string) bool {
	named := func(usages []crds.WorkspaceUsage) bool {
		_, named := usageOf(usages, workspace)
		return named
	}
	return slices.ContainsFunc(spec.Steps, func(s crds.Step) bool { return named(s.Workspaces) }) ||
		slices.ContainsFunc(spec.Sidecars, func(s crds.Sidecar) bool { return named(s.Workspaces) })
}

// setWorkspaces makes $(workspaces.<name>.*) known.
func setWorkspaces(v variables.Set, w workspaces) {
	volumes := w.volumes()
	for _, d := range w.declared {
		b, bound := w.binding(d.Name)
		path, claim := "", ""
		if bound {
			path = d.Path()
		}
		if b.PersistentVolumeClaim != nil {
			claim = b.PersistentVolumeClaim.ClaimName
		}
		v.Strings["workspaces."+d.Name+".bound"] = strconv.FormatBool(bound)
		v.Strings["workspaces."+d.Name+".path"] = path
		v.Strings["workspaces."+d.Name+".claim"] = claim
		v.Strings["workspaces."+d.Name+".volume"] = volumes[d.Name].Name
	}
}

// ownPaths are the paths of workspaces that a step or sidecar mounts elsewhere than declared.
func ownPaths(v variables.Set, usages []crds.WorkspaceUsage) map[string]string {
	paths := map[string]string{}
	for _, usage := range usages {
		if usage.MountPath != "" {
			paths["workspaces."+usage.Name+".path"] = v.Text(usage.MountPath)
		}
	}
	return paths
}
