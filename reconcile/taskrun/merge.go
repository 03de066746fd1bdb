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
		if step.Script != "" {
			c.Command = nil // the template's; that of a step excludes its script
		}
		merged = append(merged, mergedStep{Step: step, container: c})
	}
	return merged, nil
}

// mergeContainers takes the long lists out of the merge, which would compare each
// element with each: a stepTemplate and a step of 50,000 variables would keep a worker
// busy for a quarter of an hour.
func mergeContainers(under, over corev1.Container) (corev1.Container, error) {
	env := overNames(under.Env, over.Env, func(e corev1.EnvVar) string { return e.Name }, wholeVariable)
	mounts := overNames(under.VolumeMounts, over.VolumeMounts, func(m corev1.VolumeMount) string { return m.MountPath }, overMount)
	devices := overNames(under.VolumeDevices, over.VolumeDevices, func(d corev1.VolumeDevice) string { return d.DevicePath },
		func(_, over corev1.VolumeDevice) corev1.VolumeDevice { return over })
	for _, c := range []*corev1.Container{&under, &over} {
		c.Env, c.VolumeMounts, c.VolumeDevices = nil, nil, nil
	}
	merged, err := mergeFields(under, over)
	merged.Env, merged.VolumeMounts, merged.VolumeDevices = env, mounts, devices
	return merged, err
}

// wholeVariable: the step's variable stands as it is. Were it merged field by field, a
// value beside the template's valueFrom, or two kinds of source, would be a variable
// that no server accepts.
func wholeVariable(_, over corev1.EnvVar) corev1.EnvVar { return over }

// overMount: of two mounts at one path the step's fields win, those that it gives.
func overMount(under, over corev1.VolumeMount) corev1.VolumeMount {
	merged, err := mergeFields(
		corev1.Container{VolumeMounts: []corev1.VolumeMount{under}}, corev1.Container{VolumeMounts: []corev1.VolumeMount{over}})
	if err != nil || len(merged.VolumeMounts) != 1 {
		return over
	}
	return merged.VolumeMounts[0]
}

// mergeFields is a strategic merge patch.
func mergeFields(under, over corev1.Container) (corev1.Container, error) {
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

// overNames lays one list over another as a strategic merge patch does, in time that
// grows with their lengths: two elements of one name become one, by both. So is the
// order, which counts, since a variable may refer to those before it: over's elements
// in theirs, and what is under's alone before the first of them that it precedes in
// under, else at the end.
func overNames[T any](under, over []T, name func(T) string, both func(under, over T) T) []T {
	at := make(map[string]int, len(under))
	for i, one := range slices.Backward(under) { // of two of one name the first counts
		at[name(one)] = i
	}
	mine := map[string]int{} // where in merged
	for _, one := range over {
		mine[name(one)] = -1
	}
	var merged []T
	next := 0
	below := func(end int) { // takes what is under's alone, up to there
		for ; next < end; next++ {
			if _, ok := mine[name(under[next])]; !ok {
				merged = append(merged, under[next])
			}
		}
	}
	for _, one := range over {
		i, is := at[name(one)]
		if is {
			below(i)
			one = both(under[i], one)
		}
		if was := mine[name(one)]; was >= 0 {
			merged[was] = one // said twice: the later counts
			continue
		}
		mine[name(one)] = len(merged)
		merged = append(merged, one)
	}
	below(len(under))
	return merged
}
