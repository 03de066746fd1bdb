package taskrun

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"millrace/crds"
)

// A mergedStep is a step with what the stepTemplate and the workspaces add to
// its container.
type mergedStep struct {
	crds.Step
	container corev1.Container
}

// mergeTemplate lays each step over the stepTemplate by the rules of a strategic
// merge patch of containers, which is what Tekton documents: lists of variables
// and mounts join by name and path, resources and security join field by field,
// command and args replace.
func mergeTemplate(spec *crds.TaskSpec, w workspaces) ([]mergedStep, error) {
	var template corev1.Container
	if spec.StepTemplate != nil {
		template = templateContainer(*spec.StepTemplate)
	}
	merged := make([]mergedStep, 0, len(spec.Steps))
	for _, step := range spec.Steps {
		under := template
		under.VolumeMounts = slices.Concat(template.VolumeMounts, w.mounts(spec, step.Workspaces))
		c, err := mergeContainers(under, stepContainer(step))
		if err != nil {
			return nil, err
		}
		c.Env = withWhole(c.Env, step.Env)
		if step.Script != "" {
			c.Command = nil // the template's; that of a step excludes its script
		}
		merged = append(merged, mergedStep{Step: step, container: c})
	}
	return merged, nil
}

// withWhole puts the step's variables into the merged list as they stand. A merge
// goes into their fields, and a value of the step's beside a valueFrom of the
// template's, or two kinds of source, is a variable that no server accepts.
func withWhole(merged, step []corev1.EnvVar) []corev1.EnvVar {
	for _, own := range step {
		for i := range merged {
			if merged[i].Name == own.Name {
				merged[i] = own
			}
		}
	}
	return merged
}

func mergeContainers(under, over corev1.Container) (corev1.Container, error) {
	var merged corev1.Container
	original, err := json.Marshal(under)
	if err != nil {
		return merged, fmt.Errorf("encode: %w", err)
	}
	patch, err := json.Marshal(over)
	if err != nil {
		return merged, fmt.Errorf("encode: %w", err)
	}
	raw, err := strategicpatch.StrategicMergePatch(original, patch, corev1.Container{})
	if err != nil {
		return merged, fmt.Errorf("merge: %w", err)
	}
	if err := json.Unmarshal(raw, &merged); err != nil {
		return merged, fmt.Errorf("decode: %w", err)
	}
	return merged, nil
}

func templateContainer(t crds.StepTemplate) corev1.Container {
	return corev1.Container{
		Image:           t.Image,
		Command:         t.Command,
		Args:            t.Args,
		WorkingDir:      t.WorkingDir,
		EnvFrom:         t.EnvFrom,
		Env:             t.Env,
		Resources:       t.ComputeResources,
		VolumeMounts:    t.VolumeMounts,
		VolumeDevices:   t.VolumeDevices,
		ImagePullPolicy: t.ImagePullPolicy,
		SecurityContext: t.SecurityContext,
	}
}

func stepContainer(s crds.Step) corev1.Container {
	return corev1.Container{
		Image:           s.Image,
		Command:         s.Command,
		Args:            s.Args,
		WorkingDir:      s.WorkingDir,
		EnvFrom:         s.EnvFrom,
		Env:             s.Env,
		Resources:       s.ComputeResources,
		VolumeMounts:    s.VolumeMounts,
		VolumeDevices:   s.VolumeDevices,
		ImagePullPolicy: s.ImagePullPolicy,
		SecurityContext: s.SecurityContext,
	}
}
