package graph

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"millrace/crds"
)

// A Place is the part of a pipeline's task in which a text stands.
type Place int

// The places of a task whose texts have variables.
const (
	Params      Place = iota // values of params
	Matrix                   // values of matrix.params and matrix.include
	When                     // input, values and cel of when
	DisplayName              // displayName, and the names of matrix.include
	Ref                      // name and params of taskRef or pipelineRef
	SubPath                  // workspaces[].subPath
	Steps                    // steps and sidecars of taskSpec
	Spec                     // anything else of taskSpec
)

// A Text is one that may have variables: it has "$(" in it.
type Text struct {
	Place Place
	At    *field.Path // of the field, or of the element or key
	Text  string
}

// Texts calls found with each text of a task that may have variables, in an order that
// is always the same. What an embedded task declares as parameters and results, and
// its description, are not among them: variables are not replaced there.
func Texts(t *crds.PipelineTask, at *field.Path, found func(Text)) {
	w := walk{found: found}
	w.params(Params, t.Params, at.Child("params"))
	w.text(DisplayName, t.DisplayName, at, "displayName")
	w.matrix(t.Matrix, at.Child("matrix"))
	if t.TaskRef != nil {
		w.text(Ref, t.TaskRef.Name, at, "taskRef", "name")
		w.params(Ref, t.TaskRef.Params, at.Child("taskRef", "params"))
	}
	if t.PipelineRef != nil {
		w.text(Ref, t.PipelineRef.Name, at, "pipelineRef", "name")
		w.params(Ref, t.PipelineRef.Params, at.Child("pipelineRef", "params"))
	}
	for i := range t.Workspaces {
		if sub := t.Workspaces[i].SubPath; mayHave(sub) {
			w.text(SubPath, sub, at.Child("workspaces").Index(i), "subPath")
		}
	}
	w.when(t.When, at)
	if t.TaskSpec != nil {
		w.embedded(t.TaskSpec, at.Child("taskSpec"))
	}
}

type walk struct{ found func(Text) }

// mayHave spares a text without variables the making of its path.
func mayHave(text string) bool { return strings.Contains(text, "$(") }

func (w walk) text(place Place, text string, at *field.Path, below ...string) {
	if !mayHave(text) {
		return
	}
	if len(below) > 0 {
		at = at.Child(below[0], below[1:]...)
	}
	w.found(Text{place, at, text})
}

func (w walk) params(place Place, params crds.Params, at *field.Path) {
	for i := range params {
		if v := params[i].Value; mayHave(v.StringVal) || len(v.ArrayVal) > 0 || len(v.ObjectVal) > 0 {
			w.value(place, v, at.Index(i).Child("value"))
		}
	}
}

func (w walk) value(place Place, value crds.ParamValue, at *field.Path) {
	w.text(place, value.StringVal, at)
	for i, element := range value.ArrayVal {
		if mayHave(element) {
			w.text(place, element, at.Index(i))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(value.ObjectVal)) {
		w.text(place, value.ObjectVal[key], at, key)
	}
}

func (w walk) matrix(m *crds.Matrix, at *field.Path) {
	if m == nil {
		return
	}
	w.params(Matrix, m.Params, at.Child("params"))
	for i := range m.Include {
		include := at.Child("include").Index(i)
		w.text(DisplayName, m.Include[i].Name, include, "name")
		w.params(Matrix, m.Include[i].Params, include.Child("params"))
	}
}

func (w walk) when(when crds.WhenExpressions, task *field.Path) {
	for i := range when {
		at := task.Child("when").Index(i)
		w.text(When, when[i].Input, at, "input")
		for j, value := range when[i].Values {
			if mayHave(value) {
				w.text(When, value, at.Child("values").Index(j))
			}
		}
		w.text(When, when[i].CEL, at, "cel")
	}
}

// embedded walks the task as JSON has it: variables are replaced in all of its texts.
func (w walk) embedded(spec *crds.EmbeddedTask, at *field.Path) {
	shown := *spec
	shown.Description, shown.Params, shown.Results = "", nil, nil
	raw, err := json.Marshal(shown)
	if err != nil || !bytes.Contains(raw, []byte("$(")) {
		return // what has no JSON came from none, and has no variables
	}
	var tree map[string]any
	if json.Unmarshal(raw, &tree) != nil {
		return // it was encoded just now
	}
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		place := Spec
		if key == "steps" || key == "sidecars" {
			place = Steps
		}
		w.tree(place, tree[key], at.Child(key))
	}
}

func (w walk) tree(place Place, tree any, at *field.Path) {
	switch node := tree.(type) {
	case string:
		w.text(place, node, at)
	case []any:
		for i, element := range node {
			w.tree(place, element, at.Index(i))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			w.tree(place, node[key], at.Child(key))
		}
	}
}
