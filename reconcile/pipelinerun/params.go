package pipelinerun

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
	"millrace/reconcile/variables"
)

// variables are those that all tasks of the run have: its parameters, the workspaces
// that it binds, and who it is. Results join them as they are needed.
func (d *decision) variables() variables.Set {
	v := variables.New()
	d.values = variables.Values(d.spec.Params, d.Run.Spec.Params)
	v.SetParams(d.values)
	maps.Copy(v.Strings, contextStrings(d.Run))
	for _, w := range d.spec.Workspaces {
		_, bound := d.bindingOf(w.Name)
		v.Strings["workspaces."+w.Name+".bound"] = strconv.FormatBool(bound)
	}
	return v
}

func contextStrings(pr *crds.PipelineRun) map[string]string {
	return map[string]string{
		"context.pipelineRun.name":      pr.Name,
		"context.pipelineRun.namespace": pr.Namespace,
		"context.pipelineRun.uid":       string(pr.UID),
		"context.pipeline.name":         pipelineName(pr),
	}
}

// of are the variables of one task: those of all, and how often it is tried again.
func (d *decision) of(t *task) variables.Set {
	d.vars.Strings["context.pipelineTask.retries"] = strconv.Itoa(t.Retries)
	return d.vars
}

// taskParams are the parameters that a run of the task is given, of which those of
// the combination are a part.
func taskParams(v variables.Set, own, combination crds.Params) crds.Params {
	params := make(crds.Params, 0, len(own)+len(combination))
	for _, param := range own {
		params = append(params, crds.Param{Name: param.Name, Value: v.Param(param.Value)})
	}
	return append(params, combination...)
}

// An embedded task may use what its pipeline knows without asking for it. The values
// are put into its text, as Tekton does; but a run replaces variables in that text
// again, so that a value which looks like one would become another. Such a value is
// given to the run as a parameter, and the text has the reference to that: what was
// put in is never looked at again, through both. Where values look like variables only
// together with what is beside them, as in $($(params.x)), all are given.
type propagation struct {
	variables.Set

	all   bool        // every value is given
	given crds.Params // what the run must be given besides its own
}

// propagate replaces variables in an embedded task. own are the parameters that the
// run is given anyway; they and those that the task has a default for are its own.
func (d *decision) propagate(t *task, own crds.Params) (*crds.TaskSpec, crds.Params, error) {
	raw, err := json.Marshal(t.TaskSpec.TaskSpec)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the task: %w", err)
	}
	before := string(raw)
	spec, given, err := d.propagateInto(t, own, before, false)
	if err != nil || !strings.Contains(before, "$(") {
		return spec, given, err
	}
	after, err := json.Marshal(spec)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the task: %w", err)
	}
	if formed(before, string(after)) {
		return d.propagateInto(t, own, before, true)
	}
	return spec, given, nil
}

// formed tells that a text has a variable of the task which it had not, or more often
// than it had. References to what is given for the sake of its values are no such.
func formed(before, after string) bool {
	counts := map[string]int{}
	reference.Each(before, func(name string) { counts[name]++ })
	more := false
	reference.Each(after, func(name string) {
		if counts[name]--; counts[name] < 0 && replacedByRun(name) {
			more = true
		}
	})
	return more
}

// replacedByRun tells names that a TaskRun may know. The JSON of a text has a backslash
// before each quote.
func replacedByRun(name string) bool {
	scopes := []string{"params", "inputs.params", "results", "context.", "workspaces.", "steps.", "step.", "tasks.", "credentials.", "artifacts."}
	return !strings.HasPrefix(name, `params[\"tasks.`) &&
		slices.ContainsFunc(scopes, func(scope string) bool { return strings.HasPrefix(name, scope) })
}

func (d *decision) propagateInto(t *task, own crds.Params, text string, all bool) (*crds.TaskSpec, crds.Params, error) {
	p := propagation{Set: variables.New(), all: all}
	p.Budget = d.vars.Budget
	p.setParams(d, t, own, text)
	p.setResults(d, t)
	texts := d.of(t).Strings
	reference.Each(text, func(name string) {
		value, known := texts[name]
		if known && (strings.HasPrefix(name, "context.") || strings.HasPrefix(name, "workspaces.") && !t.knows(name) || strings.HasPrefix(name, "tasks.")) {
			p.setText(name, value)
		}
	})
	spec, err := p.spec(t.TaskSpec.TaskSpec)
	return spec, p.given, err
}

// setParams makes the parameters of the pipeline known that the task uses and has not
// itself. It looks at those alone, however many the pipeline has.
func (p *propagation) setParams(d *decision, t *task, own crds.Params, text string) {
	done := map[string]bool{}
	for _, param := range own {
		done[param.Name] = true
	}
	give := func(name string) {
		if value, known := d.values[name]; known && !done[name] {
			p.given = append(p.given, crds.Param{Name: name, Value: value})
		}
		done[name] = true
	}
	for _, spec := range t.TaskSpec.Params {
		if spec.Default != nil {
			done[spec.Name] = true
		}
		give(spec.Name) // the task asks for it, and nobody has given it
	}
	reference.Each(text, func(reference string) {
		name, value, known := paramOf(d.values, reference)
		switch {
		case !known || done[name]:
		case p.all || looksLikeVariables(value):
			give(name)
		default:
			p.SetParams(map[string]crds.ParamValue{name: value})
			done[name] = true
		}
	})
	slices.SortFunc(p.given, func(a, b crds.Param) int { return strings.Compare(a.Name, b.Name) })
}

// paramOf is the parameter that a reference in JSON is to, as a whole or to a part of it:
// names can have dots themselves.
func paramOf(values map[string]crds.ParamValue, written string) (name string, value crds.ParamValue, known bool) {
	written, _ = strings.CutPrefix(strings.ReplaceAll(written, `\"`, `"`), "inputs.")
	rest, ok := strings.CutPrefix(written, "params.")
	for end := len(rest); ok && end > 0; end = max(strings.LastIndexByte(rest[:end], '['), strings.LastIndexByte(rest[:end], '.')) {
		if value, known = values[rest[:end]]; known {
			return rest[:end], value, true
		}
	}
	v, _ := reference.Of("params", written)
	value, known = values[v.Name]
	return v.Name, value, known
}

// setResults makes the results known that the task refers to.
func (p *propagation) setResults(d *decision, t *task) {
	done := map[string]bool{}
	for _, r := range t.Refs {
		if r.Kind != reference.Result || done[r.Task+"/"+r.Result] {
			continue
		}
		done[r.Task+"/"+r.Result] = true
		value, ok := valueOf(d.vars, "tasks."+r.Task+".results."+r.Result)
		if !ok {
			continue
		}
		if p.all || looksLikeVariables(value) {
			name := "tasks." + r.Task + ".results." + r.Result
			p.given = append(p.given, crds.Param{Name: name, Value: value})
			value = referTo(name, value)
		}
		setResult(p.Set, r.Task, r.Result, value)
	}
}

// setText is for names that can only be texts; a value that looks like a variable
// could come from the name of a result alone, and names are checked.
func (p *propagation) setText(name, value string) {
	if _, known := p.Strings[name]; !known && !strings.Contains(value, "$(") && !strings.Contains(name, ".results") {
		p.Strings[name] = value
	}
}

// knows tells variables of workspaces that the run of the task replaces itself.
func (t *task) knows(name string) bool {
	workspace, _, _ := strings.Cut(strings.TrimPrefix(name, "workspaces."), ".")
	return slices.ContainsFunc(t.TaskSpec.Workspaces, func(w crds.WorkspaceDeclaration) bool { return w.Name == workspace }) ||
		slices.ContainsFunc(t.Workspaces, func(w crds.WorkspacePipelineTaskBinding) bool { return w.Name == workspace })
}

func valueOf(v variables.Set, reference string) (crds.ParamValue, bool) {
	if array, ok := v.Arrays[reference]; ok {
		return crds.NewArray(array...), true
	}
	if object, ok := v.Objects[reference]; ok {
		return crds.NewObject(object), true
	}
	text, ok := v.Strings[reference]
	return crds.NewString(text), ok
}

func looksLikeVariables(value crds.ParamValue) bool {
	const open = "$("
	if strings.Contains(value.StringVal, open) {
		return true
	}
	for _, one := range value.ObjectVal {
		if strings.Contains(one, open) {
			return true
		}
	}
	return slices.ContainsFunc(value.ArrayVal, func(one string) bool { return strings.Contains(one, open) })
}

// referTo is a value of the same shape that refers to a parameter of that name.
func referTo(name string, value crds.ParamValue) crds.ParamValue {
	reference := "params[" + strconv.Quote(name) + "]"
	switch value.Type {
	case crds.ParamTypeArray:
		elements := make([]string, len(value.ArrayVal))
		for i := range value.ArrayVal {
			elements[i] = fmt.Sprintf("$(%s[%d])", reference, i)
		}
		return crds.NewArray(elements...)
	case crds.ParamTypeObject:
		keys := make(map[string]string, len(value.ObjectVal))
		for key := range value.ObjectVal {
			keys[key] = "$(" + reference + "." + key + ")"
		}
		return crds.NewObject(keys)
	default:
		return crds.NewString("$(" + reference + ")")
	}
}

// spec replaces the variables of a task: in every text, and in the parameters of
// StepActions as the values that they are.
func (p *propagation) spec(spec crds.TaskSpec) (*crds.TaskSpec, error) {
	params := make([]crds.Params, len(spec.Steps))
	spec.Steps = slices.Clone(spec.Steps)
	for i := range spec.Steps {
		for _, param := range spec.Steps[i].Params {
			params[i] = append(params[i], crds.Param{Name: param.Name, Value: p.Param(param.Value)})
		}
		spec.Steps[i].Params = nil
	}
	declared, results := spec.Params, spec.Results
	spec.Params, spec.Results = nil, nil
	out, err := variables.Apply(p.Set, spec)
	if err != nil {
		return nil, err
	}
	out.Params, out.Results = declared, results
	for i := range out.Steps {
		out.Steps[i].Params = params[i]
	}
	return &out, nil
}
