package pipelinerun

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/reconcile/variables"
)

// bindingOf is what the run binds to a workspace of the pipeline.
func (d *decision) bindingOf(workspace string) (crds.WorkspaceBinding, bool) {
	if d.bindings == nil {
		d.bindings = keyed(d.Run.Spec.Workspaces, func(b crds.WorkspaceBinding) string { return b.Name })
	}
	b, ok := d.bindings[workspace]
	return b, ok
}

// keyed is a list for looking up; of two with one name, the last.
func keyed[T any](list []T, name func(T) string) map[string]T {
	all := make(map[string]T, len(list))
	for _, one := range list {
		all[name(one)] = one
	}
	return all
}

// workspaceOf tells which workspace of the pipeline a task means.
func workspaceOf(w crds.WorkspacePipelineTaskBinding) string {
	if w.Workspace != "" {
		return w.Workspace
	}
	return w.Name
}

// workspaces are those of a run of the task. One that the run of the pipeline leaves
// out is left out here, too: that it may be was checked at the start. An embedded task
// sees, besides, those of the pipeline that it uses by name.
func (d *decision) workspaces(v variables.Set, t *task) []crds.WorkspaceBinding {
	var bindings []crds.WorkspaceBinding
	for _, w := range t.Workspaces {
		if b, bound := d.bindingOf(workspaceOf(w)); bound {
			bindings = append(bindings, d.bind(v, b, w.Name, w.SubPath))
		}
	}
	for _, name := range d.propagatedWorkspaces(t) {
		if b, bound := d.bindingOf(name); bound {
			bindings = append(bindings, d.bind(v, b, name, ""))
		}
	}
	return bindings
}

// bind gives a workspace of the run another name, and a directory below its own. A
// claim that is made for the run is there for all of its tasks.
func (d *decision) bind(v variables.Set, b crds.WorkspaceBinding, name, subPath string) crds.WorkspaceBinding {
	if b.VolumeClaimTemplate != nil {
		b.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimName(d.Run.UID, b)}
		b.VolumeClaimTemplate = nil
	}
	if replaced, err := variables.Apply(v, b); err == nil { // else it is overspent, and that is found
		b = replaced
	}
	b.Name = name
	if subPath = v.Text(subPath); subPath != "" {
		b.SubPath = path.Join(b.SubPath, below(subPath))
	}
	return b
}

// below is a path that stays below where it begins: what a result says about a
// directory, "../secrets" say, cannot lead out of the one that the run was given.
func below(subPath string) string { return strings.TrimPrefix(path.Clean("/"+subPath), "/") }

// propagatedWorkspaces are those that an embedded task uses or declares, and that the
// pipeline has not given it.
func (d *decision) propagatedWorkspaces(t *task) []string {
	if t.TaskSpec == nil || t.TaskSpec.IsCustom() || len(d.Run.Spec.Workspaces) == 0 {
		return nil
	}
	used := map[string]bool{}
	raw, err := json.Marshal(t.TaskSpec.TaskSpec)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	reference.Each(string(raw), func(name string) {
		if rest, ok := strings.CutPrefix(name, "workspaces."); ok {
			workspace, _, _ := strings.Cut(rest, ".")
			used[workspace] = true
		}
	})
	for _, w := range t.TaskSpec.Workspaces {
		used[w.Name] = true
	}
	for _, w := range t.Workspaces {
		delete(used, w.Name)
	}
	var names []string
	for _, b := range d.Run.Spec.Workspaces {
		if used[b.Name] {
			names = append(names, b.Name)
		}
	}
	return names
}

// tellClaims tells a run of those of its claims that were made for this one: were one
// gone, it would be waited for as if somebody might yet make it. What was said so to a
// pipeline within a pipeline has come to its runs with the other annotations.
func (d *decision) tellClaims(annotations map[string]string, bound []crds.WorkspaceBinding) {
	for _, own := range d.Run.Spec.Workspaces {
		if own.VolumeClaimTemplate == nil {
			continue
		}
		name := claimName(d.Run.UID, own)
		uses := func(b crds.WorkspaceBinding) bool {
			return b.PersistentVolumeClaim != nil && b.PersistentVolumeClaim.ClaimName == name
		}
		if slices.ContainsFunc(bound, uses) {
			annotations[annotationClaims] = strings.TrimPrefix(annotations[annotationClaims]+","+name, ",")
		}
	}
}

// lacksClaim tells that a claim was refused: nothing begins without its volume.
func (d *decision) lacksClaim() bool {
	return len(d.Refused) > 0 && slices.ContainsFunc(d.Run.Spec.Workspaces, func(b crds.WorkspaceBinding) bool {
		return b.VolumeClaimTemplate != nil && d.Refused[claimName(d.Run.UID, b)] != nil
	})
}

// claims are made once, before the first child.
func (d *decision) claims() []Action {
	var actions []Action
	for _, b := range d.Run.Spec.Workspaces {
		template := b.VolumeClaimTemplate
		if template == nil {
			continue
		}
		actions = append(actions, CreateClaim{&corev1.PersistentVolumeClaim{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
			ObjectMeta: metav1.ObjectMeta{
				Namespace: d.Run.Namespace, Name: claimName(d.Run.UID, b),
				Labels: template.Labels, Annotations: template.Annotations,
				OwnerReferences: []metav1.OwnerReference{owner(d.Run)},
			},
			Spec: template.Spec,
		}})
	}
	return actions
}
