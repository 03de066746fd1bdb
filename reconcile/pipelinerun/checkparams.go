package pipelinerun

import (
	"maps"
	"slices"
	"strings"

	"millrace/crds"
	"millrace/crds/defaulting"
	"millrace/crds/graph"
	"millrace/crds/reference"
	"millrace/reconcile/variables"
)

// checkParams compares what the run gives with what the pipeline asks for. Values that
// nobody asked for are no fault: they are propagated.
func (d *decision) checkParams(spec *crds.PipelineSpec) *refusal {
	given := variables.Values(nil, d.Run.Spec.Params)
	var missing, wrong []string
	for _, param := range spec.Params {
		value, ok := given[param.Name]
		switch {
		case !ok && param.Default == nil:
			missing = append(missing, param.Name)
		case ok && typeOf(value) != defaulting.ParamType(param), !ok && typeOf(*param.Default) != defaulting.ParamType(param):
			wrong = append(wrong, param.Name)
		}
	}
	if len(missing) > 0 {
		return refused(crds.PipelineRunReasonParameterMissing, "PipelineRun %s is missing some parameters required by Pipeline %s: pipelineRun missing parameters: %s", d.key(), d.pipelineKey(), missing)
	}
	if len(wrong) > 0 {
		return refused(crds.PipelineRunReasonParameterTypeMismatch, "PipelineRun %s parameters have type mismatches with Pipeline %s's parameters: parameters have inconsistent types : %s", d.key(), d.pipelineKey(), wrong)
	}
	if r := d.checkKeys(spec); r != nil {
		return r
	}
	if r := d.checkEnums(spec, given); r != nil {
		return r
	}
	return d.checkUses()
}

func (d *decision) checkKeys(spec *crds.PipelineSpec) *refusal {
	values := variables.Values(spec.Params, d.Run.Spec.Params)
	missing := map[string][]string{}
	for _, param := range spec.Params {
		value := values[param.Name]
		if value.Type != crds.ParamTypeObject {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(param.Properties)) {
			if _, ok := value.ObjectVal[key]; !ok {
				missing[param.Name] = append(missing[param.Name], key)
			}
		}
	}
	if len(missing) > 0 {
		return refused(crds.PipelineRunReasonObjectParameterMissKeys, "PipelineRun %s is missing object keys required by Pipeline %s's parameters: pipelineRun missing object keys for parameters: %v", d.key(), d.pipelineKey(), missing)
	}
	return nil
}

// checkEnums holds a run to the only values that its pipeline accepts.
func (d *decision) checkEnums(spec *crds.PipelineSpec, given map[string]crds.ParamValue) *refusal {
	for _, param := range spec.Params {
		if value, ok := given[param.Name]; ok && len(param.Enum) > 0 && !slices.Contains(param.Enum, value.StringVal) {
			return refused(crds.PipelineRunReasonInvalidParamValue, "PipelineRun %s parameters have invalid value: param `%s` value: %s is not in the enum list", d.key(), param.Name, value.StringVal)
		}
	}
	return nil
}

// checkUses finds parameters that neither the pipeline declares nor the run gives, and
// elements beyond the end of their array, where those of the pipeline are meant: not
// inside embedded tasks, and not in the names of runs, which those of the task are for,
// too.
func (d *decision) checkUses() *refusal {
	var unknown, outside []string
	find := func(name string) {
		array, _, indexed := strings.Cut(name, "[")
		switch {
		case !strings.HasPrefix(name, "params.") && !strings.HasPrefix(name, "params[") || d.vars.Known(name):
		case indexed && d.vars.Known(array):
			outside = append(outside, "$("+name+")")
		default:
			unknown = append(unknown, "$("+name+")")
		}
	}
	for _, t := range d.tasks {
		graph.Texts(t.PipelineTask, nil, func(text graph.Text) {
			switch text.Place {
			case graph.DisplayName, graph.Steps, graph.Spec:
			default:
				reference.Each(text.Text, find)
			}
		})
	}
	slices.Sort(unknown)
	slices.Sort(outside)
	switch {
	case len(unknown) > 0:
		return d.badSpec("non-existent variable in %v: neither does the pipeline declare it nor the run give it", slices.Compact(unknown))
	case len(outside) > 0:
		return refused(crds.PipelineRunReasonParamArrayIndexingInvalid, "PipelineRun %s's Pipeline %s can't be Run: non-existent param references:%v", d.key(), d.pipelineKey(), slices.Compact(outside))
	default:
		return nil
	}
}
