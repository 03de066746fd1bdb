package validation

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/reference"
)

// pipelineResults looks at what a pipeline is to leave: results of its tasks, or of those
// of finally as $(finally.<task>.results.<name>).
func (r *report) pipelineResults(spec *crds.PipelineSpec, at *field.Path) {
	if len(spec.Results) == 0 {
		return
	}
	sources := map[string]bool{}
	for _, t := range spec.Tasks {
		sources["tasks."+t.Name] = true
	}
	for _, t := range spec.Finally {
		sources["finally."+t.Name] = true
	}
	twice(spec.Results, func(result crds.PipelineResult) string { return result.Name }, func(i int, name string) {
		r.warn(at.Index(i).Child("name"), "there is a result %q before, and a run shows both: choose another", name)
	})
	for i, result := range spec.Results {
		r.pipelineResult(result.Value, sources, at.Index(i).Child("value"))
	}
}

func (r *report) pipelineResult(value crds.ParamValue, sources map[string]bool, at *field.Path) {
	found := 0
	eachResult(value, func(source string) {
		if found++; source == "" || sources[source] || value.StringVal != "" {
			return
		}
		r.fails(at, field.OmitValueType{}, "there is no %s in the pipeline: correct the name", source)
	})
	if found == 0 {
		r.invalid(at, field.OmitValueType{}, "a result of a pipeline comes from its tasks: write $(tasks.<task>.results.<name>), or $(finally.<task>.results.<name>)")
		return
	}
	r.resultText(value.StringVal, sources, at)
}

// resultText wants nothing but references to results in a text, each to a task that is
// there. Text before the first a run can have; Tekton takes none.
func (r *report) resultText(text string, sources map[string]bool, at *field.Path) {
	first, rest, refers := strings.Cut(text, "$")
	if refers && first != "" && !r.Strict {
		r.invalid(at, text, "a result of a pipeline begins with a reference: leave out the text before it, or have a task put it there")
		return
	}
	reference.Each("$"+rest, func(name string) {
		switch source := resultSource(name); {
		case source == "":
			r.invalid(at, "$("+name+")", "only results of tasks are known here: write $(tasks.<task>.results.<name>), or $(finally.<task>.results.<name>)")
		case !sources[source]:
			r.invalid(at, "$("+name+")", "the pipeline has no such task there: correct the name, or write finally for one of finally and tasks for any other")
		}
	})
}

// eachResult calls found with where each reference to a result leads: tasks.<task> or
// finally.<task>.
func eachResult(value crds.ParamValue, found func(source string)) {
	texts := slices.Concat([]string{value.StringVal}, value.ArrayVal)
	for _, key := range slices.Sorted(maps.Keys(value.ObjectVal)) {
		texts = append(texts, value.ObjectVal[key])
	}
	for _, text := range texts {
		reference.Each(text, func(name string) {
			if source := resultSource(name); source != "" {
				found(source)
			}
		})
	}
}

// resultSource is tasks.<task> or finally.<task>; empty for what is no result.
func resultSource(name string) string {
	scope, rest, _ := strings.Cut(name, ".")
	if scope != "tasks" && scope != "finally" {
		return ""
	}
	one, ok := reference.OfTask("tasks." + rest)
	if !ok || one.Kind != reference.Result || !strings.ContainsAny(name, `"'`) && strings.Count(name, ".") > 4 {
		return "" // a key of an object is no object
	}
	return scope + "." + one.Task
}
