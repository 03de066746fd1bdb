package pipelinerun

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// specOf is what taskRunSpecs and taskRunTemplate say together of the runs of a task:
// the one of the task wins, field by field, in the pod template too.
func (d *decision) specOf(task string) crds.PipelineTaskRunSpec {
	pr := d.Run
	if d.own == nil {
		d.own = keyed(pr.Spec.TaskRunSpecs, func(s crds.PipelineTaskRunSpec) string { return s.PipelineTaskName })
	}
	own := d.own[task]
	if own.ServiceAccountName == "" {
		own.ServiceAccountName = pr.Spec.TaskRunTemplate.ServiceAccountName
	}
	own.PodTemplate = templates(own.PodTemplate, pr.Spec.TaskRunTemplate.PodTemplate)
	return own
}

// templates is the first template, with the fields of the second that it leaves out.
// Variables and volumes of both are there; of two with one name, the first's.
func templates(own, under *crds.PodTemplate) *crds.PodTemplate {
	switch {
	case own == nil:
		return under
	case under == nil:
		return own
	}
	t := *own
	env := besides(t.Env, under.Env, func(e corev1.EnvVar) string { return e.Name })
	volumes := besides(t.Volumes, under.Volumes, func(v corev1.Volume) string { return v.Name })
	fields, others := reflect.ValueOf(&t).Elem(), reflect.ValueOf(*under)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(others.Field(i))
		}
	}
	t.Env, t.Volumes = env, volumes
	return &t
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
