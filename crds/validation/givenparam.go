package validation

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
)

// unfitParams looks for values that are wanted, and the run has not, or has of another
// type. A text that is one reference may become anything. An object Tekton refuses where
// no keys are declared; of the rest its run finds out.
func (r *report) unfitParams(given crds.Params, wanted crds.ParamSpecs, at *field.Path) {
	values := make(map[string]crds.ParamValue, len(given))
	for _, p := range given {
		values[p.Name] = p.Value
	}
	for i, spec := range wanted {
		value, ok := values[spec.Name]
		want, has := defaulting.ParamType(spec), defaulting.ValueType(value)
		_, whole := reference.Whole(value.StringVal)
		switch {
		case !ok && spec.Default == nil:
			r.warn(at.Index(i), "the run will fail: parameter %q has no default, and the run does not give it: add it to spec.params", cut(spec.Name))
		case !ok || has == want || whole:
		case has == crds.ParamTypeObject && spec.Properties == nil:
			r.required(at.Index(i).Child("properties"), "the run gives an object, and parameter %q is declared as of type %s: declare the keys of an object here, or give a value of that type", cut(spec.Name), cut(string(want)))
		default:
			r.warn(at.Index(i), "the run will fail: parameter %q is of type %s, and the run gives it a value of type %s: change one of them", cut(spec.Name), cut(string(want)), has)
		}
	}
}

// givenNames looks at the names of what is given to steps that are written in the run:
// what they do not declare they use all the same.
func (r *report) givenNames(given crds.Params, declared map[string]param, at *field.Path) {
	for i, p := range given {
		spec := crds.ParamSpec{Name: p.Name, Type: defaulting.ValueType(p.Value)}
		r.paramName(spec, at.Index(i))
		if _, there := declared[p.Name]; there {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(p.Value.ObjectVal)) {
			r.keyName(key, at.Index(i).Child("value").Key(key))
		}
	}
}
