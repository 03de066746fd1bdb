package taskrun

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/crds/defaulting"
)

// What an administrator has runs do that say nothing themselves.

// podTemplate is the template of the run, with the administrator's in the fields that it
// leaves out, whether a webhook has filled them in or not.
func podTemplate(run *crds.TaskRun, c Config) crds.PodTemplate {
	if merged := defaulting.MergePodTemplate(run.Spec.PodTemplate, c.PodTemplate); merged != nil {
		return *merged
	}
	return crds.PodTemplate{}
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
