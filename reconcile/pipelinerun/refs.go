package pipelinerun

import (
	"bytes"
	"encoding/json"

	"millrace/crds"
	"millrace/crds/reference"
)

func referencesOfValue(value crds.ParamValue, found func(reference.Task)) {
	reference.EachTask(value.StringVal, found)
	for _, element := range value.ArrayVal {
		reference.EachTask(element, found)
	}
	for _, one := range value.ObjectVal {
		reference.EachTask(one, found)
	}
}

func referencesOfParams(params crds.Params, found func(reference.Task)) {
	for _, param := range params {
		referencesOfValue(param.Value, found)
	}
}

func referencesOfWhen(when crds.WhenExpressions, found func(reference.Task)) {
	for _, w := range when {
		reference.EachTask(w.Input, found)
		reference.EachTask(w.CEL, found)
		for _, value := range w.Values {
			reference.EachTask(value, found)
		}
	}
}

// referencesOfTask are those by which a task depends on others, but for its
// conditions.
func referencesOfTask(t *crds.PipelineTask, found func(reference.Task)) {
	referencesOfParams(t.Params, found)
	reference.EachTask(t.DisplayName, found)
	if t.Matrix != nil {
		referencesOfParams(t.Matrix.Params, found)
		for _, include := range t.Matrix.Include {
			referencesOfParams(include.Params, found)
			reference.EachTask(include.Name, found)
		}
	}
	if t.TaskRef != nil {
		reference.EachTask(t.TaskRef.Name, found)
		referencesOfParams(t.TaskRef.Params, found)
	}
	if t.PipelineRef != nil {
		reference.EachTask(t.PipelineRef.Name, found)
		referencesOfParams(t.PipelineRef.Params, found)
	}
	for _, w := range t.Workspaces {
		reference.EachTask(w.SubPath, found)
	}
	if t.TaskSpec != nil {
		referencesInside(t.TaskSpec, found)
	}
}

// referencesInside are those anywhere in an embedded task: results are propagated
// into it as parameters are.
func referencesInside(spec *crds.EmbeddedTask, found func(reference.Task)) {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	if bytes.Contains(raw, []byte("$(tasks.")) {
		eachText(decoded(raw), func(text string) { reference.EachTask(text, found) })
	}
}

// treeOf is a value as JSON has it.
func treeOf(value any) any {
	raw, err := json.Marshal(value)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return decoded(raw)
}

func decoded(raw []byte) (tree any) {
	if err := json.Unmarshal(raw, &tree); err != nil {
		panic(err) // it was encoded just now
	}
	return tree
}

func eachText(tree any, found func(string)) {
	switch node := tree.(type) {
	case string:
		found(node)
	case []any:
		for _, element := range node {
			eachText(element, found)
		}
	case map[string]any:
		for _, value := range node {
			eachText(value, found)
		}
	}
}
