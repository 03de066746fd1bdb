package defaulting

import "millrace/crds"

// Task fills in a Task.
func (d Defaults) Task(task *crds.Task) { d.TaskSpec(&task.Spec) }

// TaskSpec fills in what a task is, wherever it is written.
func (d Defaults) TaskSpec(spec *crds.TaskSpec) {
	params(spec.Params)
	for i := range spec.Steps {
		step := &spec.Steps[i]
		if step.Ref != nil {
			d.resolver(step.Ref.Name, &step.Ref.ResolverRef)
		}
		stepResults(step.Results)
	}
	for i := range spec.Results {
		result := &spec.Results[i]
		result.Type = resultType(result.Type, result.Properties)
		properties(result.Properties)
	}
}

// StepAction fills in a StepAction.
func (d Defaults) StepAction(action *crds.StepAction) {
	params(action.Spec.Params)
	stepResults(action.Spec.Results)
}

func stepResults(results []crds.StepResult) {
	for i := range results {
		results[i].Type = resultType(results[i].Type, results[i].Properties)
		properties(results[i].Properties)
	}
}

func params(specs crds.ParamSpecs) {
	for i := range specs {
		specs[i].Type = ParamType(specs[i])
		properties(specs[i].Properties)
	}
}

// properties are strings.
func properties(of map[string]crds.PropertySpec) {
	for key, property := range of {
		if property.Type == "" {
			property.Type = crds.ParamTypeString
			of[key] = property
		}
	}
}

// ParamType is the type of a parameter: the one declared, or the one that follows from
// its properties or from its default, or string.
func ParamType(spec crds.ParamSpec) crds.ParamType {
	switch {
	case spec.Type != "":
		return spec.Type
	case spec.Properties != nil:
		return crds.ParamTypeObject
	case spec.Default != nil:
		return ValueType(*spec.Default)
	default:
		return crds.ParamTypeString
	}
}

// ValueType is the type of a value; of one that does not say, string.
func ValueType(value crds.ParamValue) crds.ParamType {
	if value.Type == "" {
		return crds.ParamTypeString
	}
	return value.Type
}

func resultType(declared crds.ParamType, properties map[string]crds.PropertySpec) crds.ParamType {
	return ParamType(crds.ParamSpec{Type: declared, Properties: properties})
}
