package pipelinerun

import (
	"fmt"
	"maps"
	"slices"

	"millrace/crds"
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
		case ok && typeOf(value) != variables.TypeOf(param), !ok && typeOf(*param.Default) != variables.TypeOf(param):
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
	return d.checkUses(spec)
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
		if len(param.Enum) == 0 {
			continue
		}
		value, ok := given[param.Name]
		switch {
		case !d.config.ParamEnum:
			return d.badSpec("params[%s]: feature flag `enable-param-enum` should be set to true to use Enum", param.Name)
		case variables.TypeOf(param) != crds.ParamTypeString:
			return d.badSpec("params[%s]: enum can only be set with string type param", param.Name)
		case ok && !slices.Contains(param.Enum, value.StringVal):
			return refused(crds.PipelineRunReasonInvalidParamValue, "PipelineRun %s parameters have invalid value: param `%s` value: %s is not in the enum list", d.key(), param.Name, value.StringVal)
		}
	}
	return nil
}

// checkUses finds parameters that are not there, and elements beyond the end of their
// array, where the pipeline's own parameters are meant: not inside embedded tasks, and
// not in the names of runs, which those of the task are for, too.
func (d *decision) checkUses(spec *crds.PipelineSpec) *refusal {
	v := variables.New()
	v.SetParams(variables.Values(spec.Params, d.Run.Spec.Params))
	v.Faults = &variables.Faults{}
	for _, t := range slices.Concat(spec.Tasks, spec.Finally) {
		t.TaskSpec, t.DisplayName = nil, ""
		for _, w := range t.When {
			v.Text(w.CEL)
		}
		if _, err := variables.Apply(v, t); err != nil {
			return d.badSpec("pipeline task %q: %v", t.Name, err)
		}
	}
	if outside := v.Faults.Outside; len(outside) > 0 {
		slices.Sort(outside)
		return refused(crds.PipelineRunReasonParamArrayIndexingInvalid, "PipelineRun %s's Pipeline %s can't be Run: %v", d.key(), d.pipelineKey(), fmt.Errorf("non-existent param references:%v", outside))
	}
	return nil
}
