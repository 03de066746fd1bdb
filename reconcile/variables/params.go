package variables

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/reference"
)

// Values are the defaults with the values of the run over them. Values
// that the task does not declare are there too: an embedded task may use them
// without declaring them, and a referred one ignores them. Keys of an object
// that the run leaves out keep their default.
func Values(specs crds.ParamSpecs, given crds.Params) map[string]crds.ParamValue {
	values := make(map[string]crds.ParamValue, len(specs)+len(given))
	for _, spec := range specs {
		if spec.Default != nil {
			values[spec.Name] = *spec.Default
		}
	}
	for _, param := range given {
		values[param.Name] = overlay(values[param.Name], param.Value)
	}
	return values
}

func overlay(under, over crds.ParamValue) crds.ParamValue {
	if under.Type != crds.ParamTypeObject || over.Type != crds.ParamTypeObject {
		return over
	}
	merged := make(map[string]string, len(under.ObjectVal)+len(over.ObjectVal))
	maps.Copy(merged, under.ObjectVal)
	maps.Copy(merged, over.ObjectVal)
	return crds.NewObject(merged)
}

// Check compares what the run gives with what the task asks for. Values
// that nobody asked for are no fault: a Pipeline hands all of its own down.
func Check(specs crds.ParamSpecs, given crds.Params) error {
	values := Values(nil, given)
	var missing, wrong []string
	for _, spec := range specs {
		value, ok := values[spec.Name]
		switch {
		case !ok && spec.Default == nil:
			missing = append(missing, spec.Name)
		case ok && !fits(defaulting.ParamType(spec), value), !ok && !fits(defaulting.ParamType(spec), *spec.Default):
			wrong = append(wrong, spec.Name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing values for these params which have no default values: %s", missing)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("param types don't match the user-specified type: %s", wrong)
	}
	return checkKeys(specs, given)
}

// fits lets a string that is a whole reference pass for an array or an object:
// that is how $(tasks.x.results.y[*]) looks before it is replaced.
func fits(want crds.ParamType, value crds.ParamValue) bool {
	got := value.Type
	if got == "" {
		got = crds.ParamTypeString
	}
	if got == want {
		return true
	}
	reference := strings.HasPrefix(value.StringVal, "$(") && strings.HasSuffix(value.StringVal, ")")
	return got == crds.ParamTypeString && reference
}

func checkKeys(specs crds.ParamSpecs, given crds.Params) error {
	values := Values(specs, given)
	missing := map[string][]string{}
	for _, spec := range specs {
		value := values[spec.Name]
		if defaulting.ParamType(spec) != crds.ParamTypeObject || value.Type != crds.ParamTypeObject {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(spec.Properties)) {
			if _, ok := value.ObjectVal[key]; !ok {
				missing[spec.Name] = append(missing[spec.Name], key)
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing keys for these params which are required in ParamSpec's properties %v", missing)
	}
	return nil
}

// SetParams makes each value known under all the Spellings that Tekton has.
func (v Set) SetParams(values map[string]crds.ParamValue) {
	for name, value := range values {
		for _, spelling := range reference.Spellings("params", name) {
			v.SetParam(spelling, value)
		}
		v.SetParam("inputs.params."+name, value) // from before v1beta1; the catalog still has it
	}
}

// SetParam makes a value known under that reference, and its parts under theirs.
func (v Set) SetParam(reference string, value crds.ParamValue) {
	switch value.Type {
	case crds.ParamTypeArray:
		v.Arrays[reference] = value.ArrayVal
	case crds.ParamTypeObject:
		v.Objects[reference] = value.ObjectVal
		for key, one := range value.ObjectVal {
			v.Strings[reference+"."+key] = one
			v.Strings[reference+"["+strconv.Quote(key)+"]"] = one
			v.Strings[reference+"['"+key+"']"] = one
		}
	default:
		v.Strings[reference] = value.StringVal
	}
}
