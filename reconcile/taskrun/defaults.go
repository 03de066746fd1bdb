package taskrun

import (
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// What an administrator has runs do that say nothing themselves.

// podTemplate is the template of the run, with the administrator's in the fields
// that it leaves out. Variables and volumes of both are there; of two with one name,
// the run's. (An empty list leaves nothing out: it says that there shall be none.)
func podTemplate(run *crds.TaskRun, c Config) crds.PodTemplate {
	var t, under crds.PodTemplate
	if run.Spec.PodTemplate != nil {
		t = *run.Spec.PodTemplate
	}
	if c.PodTemplate == nil {
		return t
	}
	under = *c.PodTemplate
	env := besides(t.Env, under.Env, func(e corev1.EnvVar) string { return e.Name })
	volumes := besides(t.Volumes, under.Volumes, func(v corev1.Volume) string { return v.Name })
	fields, defaults := reflect.ValueOf(&t).Elem(), reflect.ValueOf(under)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(defaults.Field(i))
		}
	}
	t.Env, t.Volumes = env, volumes
	return t
}

// besides are the own ones, and after them those of the others whose names are free.
func besides[T any](own, others []T, name func(T) string) []T {
	all := slices.Clip(own)
	for _, other := range others {
		if !slices.ContainsFunc(own, func(o T) bool { return name(o) == name(other) }) {
			all = append(all, other)
		}
	}
	return all
}

const (
	resourcesOfAll    = "default" // the key for every container
	resourcesOfPrefix = "prefix-" // of keys for all whose names begin with the rest, and "-"
)

// resources are what a container of that name gets if it says nothing itself: what
// is for its name, else for the longest prefix of it, else for all.
func (c Config) resources(container string, own corev1.ResourceRequirements) corev1.ResourceRequirements {
	if len(own.Requests) > 0 || len(own.Limits) > 0 || len(own.Claims) > 0 {
		return own
	}
	if named, ok := c.ContainerResources[container]; ok && container != resourcesOfAll {
		return named
	}
	best := resourcesOfAll
	for key := range c.ContainerResources {
		prefix, isPrefix := strings.CutPrefix(key, resourcesOfPrefix)
		if isPrefix && strings.HasPrefix(container, prefix+"-") && (best == resourcesOfAll || len(key) > len(best)) {
			best = key
		}
	}
	return c.ContainerResources[best]
}

// bindUnbound binds workspaces that a run must bind, and does not, to what the
// administrator has for them.
func bindUnbound(declared []crds.WorkspaceDeclaration, bindings []crds.WorkspaceBinding, c Config) []crds.WorkspaceBinding {
	if c.WorkspaceBinding == nil {
		return bindings
	}
	bindings = slices.Clip(bindings)
	for _, d := range declared {
		bound := slices.ContainsFunc(bindings, func(b crds.WorkspaceBinding) bool { return b.Name == d.Name })
		if bound || d.Optional {
			continue
		}
		binding := *c.WorkspaceBinding
		binding.Name = d.Name
		bindings = append(bindings, binding)
	}
	return bindings
}
