package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
)

// maxMatrix is how many runs one task may fan out to.
func (o Options) maxMatrix() int {
	if o.MaxMatrix == 0 {
		return 256
	}
	return o.MaxMatrix
}

// matrix looks at what a task fans out over, as far as it is known before a run.
func (r *report) matrix(t *crds.PipelineTask, at *field.Path) {
	m := t.Matrix
	if m == nil {
		return
	}
	inside := at.Child("matrix")
	r.taskParams(m.Params, inside.Child("params"))
	for i, param := range m.Params {
		r.matrixValue(param, crds.ParamTypeArray, inside.Child("params").Index(i))
	}
	for i, include := range m.Include {
		within := inside.Child("include").Index(i).Child("params")
		r.taskParams(include.Params, within)
		for j, param := range include.Params {
			r.matrixValue(param, crds.ParamTypeString, within.Index(j))
		}
	}
	names := matrixNames(m)
	for i, param := range t.Params {
		if names[param.Name] {
			r.forbidden(at.Child("params").Index(i), "%q is in the matrix, too, and a run gets one value: leave one of them", param.Name)
		}
	}
	if most := r.maxMatrix(); combinations(m, most) > most {
		r.invalid(inside, field.OmitValueType{}, "it has more than %d combinations, each of which would be a run: give it fewer, or have default-max-matrix-combinations-count raised in the ConfigMap config-defaults", most)
	}
}

// matrixValue wants an array where there are several, and a string where there is one. A
// reference may become either, so that the run looks again, when it has.
func (r *report) matrixValue(param crds.Param, want crds.ParamType, at *field.Path) {
	_, whole := reference.Whole(param.Value.StringVal)
	if kind := defaulting.ValueType(param.Value); kind != want && !whole {
		r.warn(at.Child("value"), "the run will fail: it is of type %s and must be of type %s: write it as that", kind, want)
	}
}

func matrixNames(m *crds.Matrix) map[string]bool {
	names := map[string]bool{}
	for _, param := range m.Params {
		names[param.Name] = true
	}
	for _, include := range m.Include {
		for _, param := range include.Params {
			names[param.Name] = true
		}
	}
	return names
}

// combinations are how many runs the matrix asks for, at least, before arrays that are
// references are known; or some number above most. Of an include that has a value of its
// own for a parameter of the matrix there is one run more.
func combinations(m *crds.Matrix, most int) int {
	if len(m.Params) == 0 {
		return len(m.Include)
	}
	total := 1
	values := make(map[string]map[string]bool, len(m.Params))
	for _, param := range m.Params {
		total = min(total, most+1) * len(param.Value.ArrayVal)
		own := make(map[string]bool, len(param.Value.ArrayVal))
		for _, value := range param.Value.ArrayVal {
			own[value] = true
		}
		values[param.Name] = own
	}
	for _, include := range m.Include {
		if addsOne(include, values) {
			total++
		}
	}
	return total
}

func addsOne(include crds.MatrixInclude, values map[string]map[string]bool) bool {
	for _, param := range include.Params {
		if own, there := values[param.Name]; there && !own[param.Value.StringVal] {
			return true
		}
	}
	return false
}
