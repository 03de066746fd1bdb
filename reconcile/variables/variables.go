// Package variables replaces $(...) references in what authors of tasks and pipelines
// write, and knows the parameters that most of them stand for.
//
//	params, results, context ──SetParams, Strings…──▶ Set ──Text, Elements, Param, Apply──▶ the same, with values
//	                                                   │
//	                                                   └──▶ Faults: references that mean nothing
//
// What it promises:
//
//  1. One pass from left to right: what was put in is never looked at again, and
//     what is not known stays as it stands (TestText, FuzzText).
//  2. Time grows with the length of the text and no faster (TestTextIsLinear).
//  3. A value that looks like a reference which is replaced later is told from it
//     (TestReferencesForLaterAndTheirLookAlikes, FuzzLater).
//  4. What is put in for one run is at most MaxReplaced bytes together.
//  5. Every spelling of a parameter that Tekton knows: see Spellings.
//
// No clock, no I/O, no goroutine; a Set is changed by whoever fills it, and then read.
package variables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"millrace/crds"
	"millrace/crds/reference"
)

// A Set is the values that $(...) references stand for.
//
// A reference is everything between "$(" and the next ")", compared as text: no
// spaces are trimmed, no quotes are normalised. What is not known stays as it
// stands, because scripts are full of $(date) and $(VAR).
//
// Text is replaced in one pass from left to right, and what was put in is never
// looked at again: a parameter whose value is "$(params.token)" yields those
// characters and not the token. See later.go for the two that are replaced later.
type Set struct {
	Strings map[string]string
	Arrays  map[string][]string          // by the reference without "[*]"
	Objects map[string]map[string]string // likewise; only the value of a parameter can be a whole one
	Results map[string]string            // parameters that are the result of a step, by the name of that: steps.a.results.b
	Faults  *Faults                      // nil where nobody asks
	Budget  *Budget                      // never nil

	Encoded      bool // the values have been through settle: see later.go
	AttemptLater bool // the run has more than one attempt
	TakesResults bool // this field can have results of steps
	OfSteps      bool // so can some fields in what is being replaced
}

// Faults collects references that cannot mean anything, each once, in the
// order in which they were met.
type Faults struct {
	Unknown   []string // a name that a task may use only when it is declared
	Outside   []string // an index beyond the end of its array
	Isolated  []string // an array that is not a whole element of command or args
	Misplaced []string // the result of a step, in a field that is read before any step runs
	Unserved  []string // an artifact
}

// New returns a Set that knows nothing yet, with a Budget of its own.
func New() Set {
	return Set{
		Strings: map[string]string{}, Arrays: map[string][]string{},
		Objects: map[string]map[string]string{}, Results: map[string]string{},
		Budget: NewBudget(),
	}
}

// With returns the variables with some strings replaced; v is not changed.
func (v Set) With(values map[string]string) Set {
	if len(values) == 0 {
		return v
	}
	merged := maps.Clone(v.Strings)
	maps.Copy(merged, values)
	v.Strings = merged
	return v
}

// Later are the forms of reference that may be left in the text.
func (v Set) Later() []string {
	var forms []string
	if v.TakesResults {
		forms = append(forms, LaterResult)
	}
	if v.AttemptLater {
		forms = append(forms, LaterAttempt)
	}
	return forms
}

// Text replaces the references of a string, in time that grows with its length
// and no faster.
func (v Set) Text(s string) string {
	var out Draft
	for more := true; more; {
		var before, name string
		before, name, s, more = reference.Next(s)
		out.WriteString(before)
		if more {
			v.replace(&out, name)
		}
	}
	return out.Settle(v.Later())
}

// replace writes what the reference of that name stands for, or the reference.
func (v Set) replace(out *Draft, name string) {
	value, known := v.value(name)
	result, isResult := v.stepResult(name)
	switch {
	case v.AttemptLater && "("+name+")" == LaterAttempt:
		out.Refer(name)
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
func (v Set) put(out *Draft, value string) {
	if !v.Budget.Afford(len(value)) {
		return
	}
	if !v.Encoded {
		out.WriteString(value)
		return
	}
	for _, p := range Split(value, []string{LaterResult, LaterAttempt}) {
		out.WriteString(p.Text)
		switch {
		case p.Ref == "":
		case "("+p.Ref+")" == LaterAttempt:
			out.Refer(p.Ref)
		default:
			v.refer(out, p.Ref)
		}
	}
}

// refer leaves a reference to a step's result where that can be had.
func (v Set) refer(out *Draft, name string) {
	if !v.TakesResults && v.Faults != nil {
		v.Faults.Misplaced = cite(v.Faults.Misplaced, "$("+name+")")
	}
	out.Refer(name)
}

// stepResult tells which result of a step a name stands for: itself, or what a
// parameter of that name, maybe with an index or a key, was given.
func (v Set) stepResult(name string) (string, bool) {
	if reference.IsStepResult(name) {
		return name, true
	}
	for end := len(name); end > 0; end = max(strings.LastIndexByte(name[:end], '['), strings.LastIndexByte(name[:end], '.')) {
		if result, ok := v.Results[name[:end]]; ok {
			return result + name[end:], true
		}
	}
	return "", false
}

// Elements replaces the references of one element of command or args, which
// becomes several elements, or none, when it is exactly one array.
func (v Set) Elements(s string) []string {
	name, whole := reference.Whole(s)
	array, ok := v.Arrays[strings.TrimSuffix(name, "[*]")]
	if !whole || !ok {
		return []string{v.Text(s)}
	}
	if !v.Budget.Afford(16 * len(array)) { // empty ones take room, too
		return nil
	}
	elements := make([]string, len(array))
	for i := range array {
		var out Draft
		v.put(&out, array[i])
		elements[i] = out.Settle(v.Later())
	}
	return elements
}

// Param replaces the references of a parameter's value. One that is exactly an
// array or an object becomes that.
func (v Set) Param(value crds.ParamValue) crds.ParamValue {
	switch value.Type {
	case crds.ParamTypeArray:
		elements := make([]string, 0, len(value.ArrayVal))
		for _, element := range value.ArrayVal {
			elements = append(elements, v.Elements(element)...)
		}
		return crds.NewArray(elements...)
	case crds.ParamTypeObject:
		keys := make(map[string]string, len(value.ObjectVal))
		for _, key := range slices.Sorted(maps.Keys(value.ObjectVal)) {
			keys[key] = v.Text(value.ObjectVal[key])
		}
		return crds.NewObject(keys)
	case crds.ParamTypeString:
	}
	return v.whole(value.StringVal)
}

// whole is the value of a text that may be exactly one reference.
func (v Set) whole(text string) crds.ParamValue {
	name, whole := reference.Whole(text)
	name = strings.TrimSuffix(name, "[*]")
	if _, ok := v.Arrays[name]; whole && ok {
		return crds.NewArray(v.Elements(text)...)
	}
	if object, ok := v.Objects[name]; whole && ok {
		return v.object(object)
	}
	if _, isString := v.Strings[name]; whole && isString {
		return crds.NewString(v.Text("$(" + name + ")")) // x[*] of a string is the string
	}
	return crds.NewString(v.Text(text))
}

func (v Set) object(object map[string]string) crds.ParamValue {
	keys := make(map[string]string, len(object))
	for key, value := range object {
		var out Draft
		v.put(&out, value)
		keys[key] = out.Settle(v.Later())
	}
	return crds.NewObject(keys)
}

// Known tells whether the reference of that name would be replaced, as a text or as a
// whole array or object.
func (v Set) Known(name string) bool {
	if _, ok := v.value(name); ok {
		return true
	}
	name = strings.TrimSuffix(name, "[*]")
	_, isArray := v.Arrays[name]
	_, isObject := v.Objects[name]
	_, isString := v.Strings[name]
	return isArray || isObject || isString
}

func (v Set) value(name string) (string, bool) {
	if value, ok := v.Strings[name]; ok {
		return value, true
	}
	array, index, ok := v.indexed(name)
	if !ok || index < 0 || index >= len(array) {
		return "", false
	}
	return array[index], true
}

// indexed takes name[i] apart; ok tells that name is an array and i a number.
func (v Set) indexed(name string) (array []string, index int, ok bool) {
	open := strings.LastIndexByte(name, '[')
	if open < 0 || !strings.HasSuffix(name, "]") {
		return nil, 0, false
	}
	if array, ok = v.Arrays[name[:open]]; !ok {
		return nil, 0, false
	}
	index, err := strconv.Atoi(name[open+1 : len(name)-1])
	return array, index, err == nil
}

// note files a reference that text could not replace.
func (v Set) note(name string) {
	if v.Faults == nil {
		return
	}
	written := "$(" + name + ")"
	_, _, indexed := v.indexed(name)
	_, array := v.Arrays[strings.TrimSuffix(name, "[*]")]
	switch {
	case indexed:
		v.Faults.Outside = cite(v.Faults.Outside, written)
	case array:
		v.Faults.Isolated = cite(v.Faults.Isolated, written)
	case mustBeDeclared(name):
		v.Faults.Unknown = cite(v.Faults.Unknown, written)
	case reference.IsArtifact(name):
		v.Faults.Unserved = cite(v.Faults.Unserved, written)
	}
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
	if slices.Contains(list, reference) {
		return list
	}
	return append(list, reference)
}

// A Replacer makes new texts of old ones. In returns the one for a field.
type Replacer interface {
	Text(string) string
	Elements(string) []string
	In(field string) Replacer
	Overspent() error
}

// Overspent tells once the values are more than MaxReplaced.
func (v Set) Overspent() error { return v.Budget.Overspent() }

// In tells where in a step Tekton's entrypoint, and ours, puts results of steps.
func (v Set) In(field string) Replacer {
	switch field {
	case "command", "args", "env", "when":
		v.TakesResults = v.TakesResults || v.OfSteps
	}
	return v
}

// Apply returns a copy of value in which the references of every string are
// replaced. Keys of maps are names and stay as they are. Arrays spread in the
// fields command and args, and among the values of a condition.
func Apply[T any](r Replacer, value T) (T, error) {
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
	if err := r.Overspent(); err != nil {
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

func walk(r Replacer, tree any) any {
	switch node := tree.(type) {
	case string:
		return r.Text(node)
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
				node[key] = spread(r.In(key), list)
				continue
			}
			node[key] = walk(r.In(key), node[key])
		}
		return node
	default:
		return node
	}
}

func spread(r Replacer, list []any) []any {
	out := make([]any, 0, len(list))
	for _, element := range list {
		s, ok := element.(string)
		if !ok {
			out = append(out, element)
			continue
		}
		for _, one := range r.Elements(s) {
			out = append(out, one)
		}
	}
	return out
}
