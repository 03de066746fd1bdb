package defaulting

import (
	"encoding/json"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// MergePodTemplate is the template with the others' fields where it leaves them out. Its
// variables and volumes are those of both; of two with one name, its own. (An empty list
// leaves nothing out: it says that there shall be none.) It is nil if both are. Neither
// is changed, and nothing of under is in what is returned.
func MergePodTemplate(own, under *crds.PodTemplate) *crds.PodTemplate {
	if under == nil {
		return own
	}
	copied := copyOf(*under)
	if own == nil {
		return &copied
	}
	merged := *own
	env := besides(own.Env, copied.Env, func(e corev1.EnvVar) string { return e.Name })
	volumes := besides(own.Volumes, copied.Volumes, func(v corev1.Volume) string { return v.Name })
	fields, defaults := reflect.ValueOf(&merged).Elem(), reflect.ValueOf(copied)
	for i := range fields.NumField() {
		if fields.Field(i).IsZero() {
			fields.Field(i).Set(defaults.Field(i))
		}
	}
	merged.Env, merged.Volumes = env, volumes
	return &merged
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

// copyOf goes by JSON: the types have no DeepCopy, and this is once for a run.
func copyOf(template crds.PodTemplate) (out crds.PodTemplate) {
	raw, err := json.Marshal(template)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(err) // it was decoded from such a text
	}
	return out
}
