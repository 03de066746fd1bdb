package taskrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/crds"
)

// variables are the values that $(...) references stand for.
//
// A reference is everything between "$(" and the next ")", compared as text: no
// spaces are trimmed, no quotes are normalised. What is not known stays as it
// stands, because scripts are full of $(date) and $(VAR).
//
// Text is replaced in one pass from left to right, and what was put in is never
// looked at again: a parameter whose value is "$(params.token)" yields those
// characters and not the token. See later.go for the two that are replaced later.
type variables struct {
	strings map[string]string
	arrays  map[string][]string          // by the reference without "[*]"
	objects map[string]map[string]string // likewise; only the value of a parameter can be a whole one
	results map[string]string            // parameters that are the result of a step, by the name of that: steps.a.results.b
	faults  *faults                      // nil where nobody asks
	budget  *budget                      // never nil

	encoded      bool // the values have been through settle: see later.go
	attemptLater bool // the run has more than one attempt
	takesResults bool // this field can have results of steps
	ofSteps      bool // so can some fields in what is being replaced
}

// faults collects references that cannot mean anything, each once, in the
// order in which they were met.
type faults struct {
	unknown   []string // a name that a task may use only when it is declared
	outside   []string // an index beyond the end of its array
	isolated  []string // an array that is not a whole element of command or args
	misplaced []string // the result of a step, in a field that is read before any step runs
	unserved  []string // an artifact
}

func newVariables() variables {
	return variables{
		strings: map[string]string{}, arrays: map[string][]string{},
		objects: map[string]map[string]string{}, results: map[string]string{},
		budget: &budget{left: maxReplaced},
	}
}

// with returns the variables with some strings replaced; v is not changed.
func (v variables) with(values map[string]string) variables {
	if len(values) == 0 {
		return v
	}
	merged := maps.Clone(v.strings)
	maps.Copy(merged, values)
	v.strings = merged
	return v
}

// later are the forms of reference that may be left in the text.
func (v variables) later() []string {
	var forms []string
	if v.takesResults {
		forms = append(forms, laterResult)
	}
	if v.attemptLater {
		forms = append(forms, laterAttempt)
	}
	return forms
}

// text replaces the references of a string, in time that grows with its length
// and no faster: a name holds no "$(", so between two ")" only the last "$("
// can open a reference.
func (v variables) text(s string) string {
	var out draft
	rest := s
	for {
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			break
		}
		at := strings.LastIndex(rest[:end], "$(")
		if at < 0 {
			out.WriteString(rest[:end+1])
		} else {
			out.WriteString(rest[:at])
			v.replace(&out, rest[at+2:end])
		}
		rest = rest[end+1:]
	}
	out.WriteString(rest)
	return out.settle(v.later())
}

// replace writes what the reference of that name stands for, or the reference.
func (v variables) replace(out *draft, name string) {
	value, known := v.value(name)
	result, isResult := v.stepResult(name)
	switch {
	case v.attemptLater && "("+name+")" == laterAttempt:
		out.refer(name)
	case known:
		v.put(out, value)
	case isResult:
		v.refer(out, result)
	default:
		v.note(name)
		out.WriteString("$(" + name + ")")
	}
}

// put writes a value, in which only an earlier pass can have left references. Beyond
// the budget it writes nothing, and the run is refused.
func (v variables) put(out *draft, value string) {
	if !v.budget.afford(len(value)) {
		return
	}
	if !v.encoded {
		out.WriteString(value)
		return
	}
	for _, p := range split(value, []string{laterResult, laterAttempt}) {
		out.WriteString(p.text)
		switch {
		case p.ref == "":
		case "("+p.ref+")" == laterAttempt:
			out.refer(p.ref)
		default:
			v.refer(out, p.ref)
		}
	}
}

// refer leaves a reference to a step's result where that can be had.
func (v variables) refer(out *draft, name string) {
	if !v.takesResults && v.faults != nil {
		v.faults.misplaced = cite(v.faults.misplaced, "$("+name+")")
	}
	out.refer(name)
}

// stepResult tells which result of a step a name stands for: itself, or what a
// parameter of that name, maybe with an index or a key, was given.
func (v variables) stepResult(name string) (string, bool) {
	if isStepResult(name) {
		return name, true
	}
	for end := len(name); end > 0; end = max(strings.LastIndexByte(name[:end], '['), strings.LastIndexByte(name[:end], '.')) {
		if result, ok := v.results[name[:end]]; ok {
			return result + name[end:], true
		}
	}
	return "", false
}

func isStepResult(name string) bool {
	step, result, ok := strings.Cut(strings.TrimPrefix(name, "steps."), ".results.")
	return ok && strings.HasPrefix(name, "steps.") && step != "" && result != "" && !strings.ContainsAny(name, " \n\t'\"$")
}

// elements replaces the references of one element of command or args, which
// becomes several elements, or none, when it is exactly one array.
func (v variables) elements(s string) []string {
	name, whole := wholeReference(s)
	array, ok := v.arrays[strings.TrimSuffix(name, "[*]")]
	if !whole || !ok {
		return []string{v.text(s)}
	}
	if !v.budget.afford(16 * len(array)) { // empty ones take room, too
		return nil
	}
	elements := make([]string, len(array))
	for i := range array {
		var out draft
		v.put(&out, array[i])
		elements[i] = out.settle(v.later())
	}
	return elements
}

// wholeReference is the name in a text that is one reference and nothing else.
func wholeReference(s string) (name string, ok bool) {
	name, ok = strings.CutPrefix(s, "$(")
	if !ok || strings.IndexByte(name, ')') != len(name)-1 {
		return "", false
	}
	return name[:len(name)-1], true
}

// param replaces the references of a parameter's value. One that is exactly an
// array or an object becomes that.
func (v variables) param(value crds.ParamValue) crds.ParamValue {
	switch value.Type {
	case crds.ParamTypeArray:
		elements := make([]string, 0, len(value.ArrayVal))
		for _, element := range value.ArrayVal {
			elements = append(elements, v.elements(element)...)
		}
		return crds.NewArray(elements...)
	case crds.ParamTypeObject:
		keys := make(map[string]string, len(value.ObjectVal))
		for _, key := range slices.Sorted(maps.Keys(value.ObjectVal)) {
			keys[key] = v.text(value.ObjectVal[key])
		}
		return crds.NewObject(keys)
	case crds.ParamTypeString:
	}
	return v.whole(value.StringVal)
}

// whole is the value of a text that may be exactly one reference.
func (v variables) whole(text string) crds.ParamValue {
	name, whole := wholeReference(text)
	name = strings.TrimSuffix(name, "[*]")
	if _, ok := v.arrays[name]; whole && ok {
		return crds.NewArray(v.elements(text)...)
	}
	if object, ok := v.objects[name]; whole && ok {
		return v.object(object)
	}
	if _, isString := v.strings[name]; whole && isString {
		return crds.NewString(v.text("$(" + name + ")")) // x[*] of a string is the string
	}
	return crds.NewString(v.text(text))
}

func (v variables) object(object map[string]string) crds.ParamValue {
	keys := make(map[string]string, len(object))
	for key, value := range object {
		var out draft
		v.put(&out, value)
		keys[key] = out.settle(v.later())
	}
	return crds.NewObject(keys)
}

func (v variables) value(name string) (string, bool) {
	if value, ok := v.strings[name]; ok {
		return value, true
	}
	array, index, ok := v.indexed(name)
	if !ok || index < 0 || index >= len(array) {
		return "", false
	}
	return array[index], true
}

// indexed takes name[i] apart; ok tells that name is an array and i a number.
func (v variables) indexed(name string) (array []string, index int, ok bool) {
	open := strings.LastIndexByte(name, '[')
	if open < 0 || !strings.HasSuffix(name, "]") {
		return nil, 0, false
	}
	if array, ok = v.arrays[name[:open]]; !ok {
		return nil, 0, false
	}
	index, err := strconv.Atoi(name[open+1 : len(name)-1])
	return array, index, err == nil
}

// note files a reference that text could not replace.
func (v variables) note(name string) {
	if v.faults == nil {
		return
	}
	reference := "$(" + name + ")"
	_, _, indexed := v.indexed(name)
	_, array := v.arrays[strings.TrimSuffix(name, "[*]")]
	switch {
	case indexed:
		v.faults.outside = cite(v.faults.outside, reference)
	case array:
		v.faults.isolated = cite(v.faults.isolated, reference)
	case mustBeDeclared(name):
		v.faults.unknown = cite(v.faults.unknown, reference)
	case isArtifact(name):
		v.faults.unserved = cite(v.faults.unserved, reference)
	}
}

// isArtifact tells Tekton's names for artifacts. Nothing replaces them, and a step
// that has the reference in its script as it stands would fail without a word of why.
func isArtifact(name string) bool {
	if name == "artifacts.path" || name == "step.artifacts.path" {
		return true
	}
	rest, ofStep := strings.CutPrefix(name, "steps.")
	parts := strings.SplitN(rest, ".", 3)
	return ofStep && len(parts) > 1 && (parts[1] == "inputs" || parts[1] == "outputs")
}

// mustBeDeclared tells names that Tekton refuses when it does not know them.
// Any other unknown reference may be meant for a shell or for the kubelet.
func mustBeDeclared(name string) bool {
	scopes := []string{"params.", "params[", "inputs.params.", "results.", "results[", "context.taskRun.", "context.task."}
	return slices.ContainsFunc(scopes, func(scope string) bool { return strings.HasPrefix(name, scope) })
}

// cite adds a reference to a list of faults, which is as long as people read at most.
func cite(list []string, reference string) []string {
	if len(list) >= 500 {
		return list
	}
	return appendOnce(list, reference)
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// A replacer makes new texts of old ones. in returns the one for a field.
type replacer interface {
	text(string) string
	elements(string) []string
	in(field string) replacer
	overspent() error
}

func (v variables) overspent() error { return v.budget.overspent() }

// in tells where in a step Tekton's entrypoint, and ours, puts results of steps.
func (v variables) in(field string) replacer {
	switch field {
	case "command", "args", "env", "when":
		v.takesResults = v.takesResults || v.ofSteps
	}
	return v
}

// apply returns a copy of value in which the references of every string are
// replaced. Keys of maps are names and stay as they are. Arrays spread in the
// fields command and args, and among the values of a condition.
func apply[T any](r replacer, value T) (T, error) {
	var out T
	raw, err := json.Marshal(value)
	if err != nil {
		return out, fmt.Errorf("encode %T: %w", value, err)
	}
	var tree any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&tree); err != nil {
		return out, fmt.Errorf("decode %T: %w", value, err)
	}
	tree = walk(r, tree)
	if err := r.overspent(); err != nil {
		return out, err
	}
	if raw, err = json.Marshal(tree); err != nil {
		return out, fmt.Errorf("encode %T: %w", value, err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("after replacing variables: %w", err)
	}
	return out, nil
}

func walk(r replacer, tree any) any {
	switch node := tree.(type) {
	case string:
		return r.text(node)
	case []any:
		for i := range node {
			node[i] = walk(r, node[i])
		}
		return node
	case map[string]any:
		// In the order of the names, so that faults are found in one order.
		for _, key := range slices.Sorted(maps.Keys(node)) {
			list, isList := node[key].([]any)
			if isList && (key == "command" || key == "args" || key == "values") {
				node[key] = spread(r.in(key), list)
				continue
			}
			node[key] = walk(r.in(key), node[key])
		}
		return node
	default:
		return node
	}
}

func spread(r replacer, list []any) []any {
	out := make([]any, 0, len(list))
	for _, element := range list {
		s, ok := element.(string)
		if !ok {
			out = append(out, element)
			continue
		}
		for _, one := range r.elements(s) {
			out = append(out, one)
		}
	}
	return out
}
