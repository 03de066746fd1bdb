package pipelinerun

import (
	"bytes"
	"encoding/json"
	"strings"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// A reference is what a variable of the scope "tasks" names: a result of a task, one
// of the numbers of its matrix, or how it ended.
type reference struct {
	task   string // empty for $(tasks.status)
	kind   refKind
	result string // of a result, or of the length of an aggregated one
	whole  bool   // all elements, or all keys: [*]
	name   string // as it is written
}

type refKind int

const (
	refResult       refKind = iota // $(tasks.t.results.r), with [*], [i] or .key
	refOutput                      // $(tasks.t.outputs), an artifact: orders, and is not replaced
	refMatrixLength                // $(tasks.t.matrix.length)
	refResultLength                // $(tasks.t.matrix.r.length)
	refState                       // $(tasks.t.status), $(tasks.t.reason) or $(tasks.status)
)

// parseReference takes a name apart. ok is false for what is no name of that scope.
func parseReference(name string) (r reference, ok bool) {
	rest, inTasks := strings.CutPrefix(name, "tasks.")
	if !inTasks {
		return r, false
	}
	r.name = name
	if rest == "status" {
		r.kind = refState
		return r, true
	}
	task, rest, found := strings.Cut(rest, ".")
	if !found || task == "" || strings.ContainsAny(task, " \t\n'\"[]$") {
		return r, false
	}
	r.task = task
	switch {
	case rest == "status" || rest == "reason":
		r.kind = refState
	case rest == "outputs" || strings.HasPrefix(rest, "outputs."):
		r.kind = refOutput
	case rest == "matrix.length":
		r.kind = refMatrixLength
	case strings.HasPrefix(rest, "matrix.") && strings.HasSuffix(rest, ".length"):
		r.kind, r.result = refResultLength, strings.TrimSuffix(strings.TrimPrefix(rest, "matrix."), ".length")
	default:
		r.kind = refResult
		r.result, r.whole, ok = parseResult(rest)
		return r, ok
	}
	return r, true
}

// parseResult reads results.r, results["r"] or results['r'], and what follows.
func parseResult(rest string) (result string, whole, ok bool) {
	rest, ok = strings.CutPrefix(rest, "results")
	switch {
	case !ok:
		return "", false, false
	case strings.HasPrefix(rest, "."):
		after := rest[1:]
		end := strings.IndexAny(after, ".[")
		if end < 0 {
			end = len(after)
		}
		result, rest = after[:end], after[end:]
	default:
		if result, rest, ok = quoted(rest); !ok {
			return "", false, false
		}
	}
	return result, rest == "[*]", result != "" && !strings.ContainsAny(result, " \t\n'\"$")
}

// quoted reads ["name"] or ['name'].
func quoted(text string) (name, rest string, ok bool) {
	for _, quote := range []string{`"`, `'`} {
		if after, opened := strings.CutPrefix(text, "["+quote); opened {
			return strings.Cut(after, quote+"]")
		}
	}
	return "", "", false
}

// references are those of a text, in their order.
func references(text string, found func(reference)) {
	if !strings.Contains(text, "$(tasks.") {
		return
	}
	variables.References(text, func(name string) {
		if r, ok := parseReference(name); ok {
			found(r)
		}
	})
}

func referencesOfValue(value crds.ParamValue, found func(reference)) {
	references(value.StringVal, found)
	for _, element := range value.ArrayVal {
		references(element, found)
	}
	for _, one := range value.ObjectVal {
		references(one, found)
	}
}

func referencesOfParams(params crds.Params, found func(reference)) {
	for _, param := range params {
		referencesOfValue(param.Value, found)
	}
}

func referencesOfWhen(when crds.WhenExpressions, found func(reference)) {
	for _, w := range when {
		references(w.Input, found)
		references(w.CEL, found)
		for _, value := range w.Values {
			references(value, found)
		}
	}
}

// referencesOfTask are those by which a task depends on others, but for its
// conditions.
func referencesOfTask(t *crds.PipelineTask, found func(reference)) {
	referencesOfParams(t.Params, found)
	references(t.DisplayName, found)
	if t.Matrix != nil {
		referencesOfParams(t.Matrix.Params, found)
		for _, include := range t.Matrix.Include {
			referencesOfParams(include.Params, found)
			references(include.Name, found)
		}
	}
	if t.TaskRef != nil {
		references(t.TaskRef.Name, found)
		referencesOfParams(t.TaskRef.Params, found)
	}
	if t.PipelineRef != nil {
		references(t.PipelineRef.Name, found)
		referencesOfParams(t.PipelineRef.Params, found)
	}
	for _, w := range t.Workspaces {
		references(w.SubPath, found)
	}
	if t.TaskSpec != nil {
		referencesInside(t.TaskSpec, found)
	}
}

// referencesInside are those anywhere in an embedded task: results are propagated
// into it as parameters are.
func referencesInside(spec *crds.EmbeddedTask, found func(reference)) {
	raw, err := json.Marshal(spec)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	if bytes.Contains(raw, []byte("$(tasks.")) {
		eachText(decoded(raw), func(text string) { references(text, found) })
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
