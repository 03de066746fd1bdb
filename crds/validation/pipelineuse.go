package validation

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
	"millrace/crds/reference"
)

// workspaceUses looks at which workspaces of its pipeline a task is shown.
func (r *report) workspaceUses(bindings []crds.WorkspacePipelineTaskBinding, declared map[string]bool, at *field.Path) {
	twice(bindings, func(w crds.WorkspacePipelineTaskBinding) string { return w.Name }, func(i int, name string) {
		r.invalid(at.Index(i).Child("name"), name, "the task is shown a workspace of that name before: leave one of them")
	})
	for i, w := range bindings {
		name := w.Name
		if w.Workspace != "" {
			name = w.Workspace
		}
		if !declared[name] {
			r.invalid(at.Index(i), name, "the pipeline declares no such workspace: declare it in its workspaces, or correct the name")
		}
	}
}

// What can be put into the text of a pipeline's task for a parameter.
type fits int

const (
	onlyText   fits = iota // a string, or a part of something
	wholeArray             // an element, which a whole array can be
	starred                // the same, if it is written with [*]
	anything               // a value, which a whole array or object can be if written with [*]
)

// paramUses looks at the parameters that a task is given, fans out over or compares.
func (r *report) paramUses(t *crds.PipelineTask, known *scope, at *field.Path) {
	for i, param := range t.Params {
		r.valueUses(param.Value, known, anything, at.Child("params").Index(i).Child("value"))
	}
	if t.Matrix != nil {
		for i, param := range t.Matrix.Params {
			param.Value.StringVal = "" // Tekton looks at elements
			r.valueUses(param.Value, known, onlyText, at.Child("matrix", "params").Index(i).Child("value"))
		}
		for i, include := range t.Matrix.Include {
			for j, param := range include.Params {
				r.valueUses(param.Value, known, onlyText, at.Child("matrix", "include").Index(i).Child("params").Index(j).Child("value"))
			}
		}
	}
	for i, w := range t.When {
		r.use(w.Input, known, onlyText, at.Child("when").Index(i).Child("input"))
		for j, value := range w.Values {
			r.use(value, known, starred, at.Child("when").Index(i).Child("values").Index(j))
		}
	}
}

func (r *report) valueUses(value crds.ParamValue, known *scope, text fits, at *field.Path) {
	r.use(value.StringVal, known, text, at)
	for i, element := range value.ArrayVal {
		r.use(element, known, wholeArray, at.Index(i))
	}
	for _, key := range slices.Sorted(maps.Keys(value.ObjectVal)) {
		r.use(value.ObjectVal[key], known, onlyText, at.Key(key))
	}
}

// use looks at the parameters in one text. The first that is wrong is enough.
func (r *report) use(text string, known *scope, what fits, at *field.Path) {
	if !strings.Contains(text, "$(params") {
		return
	}
	var first *fault
	name := ""
	reference.Each(text, func(one string) {
		if !strings.HasPrefix(one, "params.") && !strings.HasPrefix(one, "params[") {
			return
		}
		if f := known.judgeUse(one, text, what); f != nil && (first == nil || f.refused && !first.refused) {
			first, name = f, one
		}
	})
	switch {
	case first == nil:
	case first.refused:
		r.invalid(at, field.OmitValueType{}, "$(%s): %s", name, first.why)
	default:
		r.fails(at, field.OmitValueType{}, "$(%s): %s", name, first.why)
	}
}

// judgeUse tells what is wrong with a parameter in the text of a pipeline's task.
func (s *scope) judgeUse(name, text string, what fits) *fault {
	v, ok := reference.Of("params", name)
	_, isolated := reference.Whole(text)
	of, declared := s.param(v.Name)
	_, indexed := v.Index()
	key, keyed := v.Key()
	_, hasKey := of.keys[key]
	switch {
	case deep(v) && strings.HasPrefix(name, "params."):
		return wrong("it has more than two dots; if the name of a parameter has them, write $(params[\"<name>\"])")
	case noReference(name, ok):
		return unquoted()
	case !ok || !declared:
		return s.unknownParam(name)
	case of.kind == crds.ParamTypeArray && (indexed || isolated && what == wholeArray || isolated && v.Whole() && what != onlyText):
		return nil
	case of.kind == crds.ParamTypeArray:
		return wrong("parameter %q is an array, which cannot be part of a text: make $(params.%s[*]) the whole value or an element of its own, or take one of its elements, $(params.%s[0])", v.Name, v.Name, v.Name)
	case of.kind != crds.ParamTypeObject, keyed && (hasKey || len(of.keys) == 0), isolated && v.Whole() && what == anything:
		return nil
	case keyed:
		return wrong("object %q has no key %q: declare it in its properties, or correct the name", v.Name, key)
	default:
		return wrong("parameter %q is an object, which cannot be part of a text: make $(params.%s[*]) the whole value, or take one of its keys, $(params.%s.<key>)", v.Name, v.Name, v.Name)
	}
}
