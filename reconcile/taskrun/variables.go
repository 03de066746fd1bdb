package taskrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// variables are the values that $(...) references stand for.
//
// A reference is everything between "$(" and the next ")", compared as text: no
// spaces are trimmed, no quotes are normalised. What is not known stays as it
// stands, because scripts are full of $(date) and $(VAR).
//
// Text is replaced in one pass from left to right, and what was put in is never
// looked at again: a parameter whose value is "$(params.token)" yields those
// characters and not the token.
type variables struct {
	strings map[string]string
	arrays  map[string][]string // by the reference without "[*]"
	faults  *faults             // nil where nobody asks
}

// faults collects references that cannot mean anything, each once, in the
// order in which they were met.
type faults struct {
	unknown  []string // a name that a task may use only when it is declared
	outside  []string // an index beyond the end of its array
	isolated []string // an array that is not a whole element of command or args
}

func newVariables() variables {
	return variables{strings: map[string]string{}, arrays: map[string][]string{}}
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

// text replaces the references of a string, in time that grows with its length
// and no faster: a name holds no "$(", so between two ")" only the last "$("
// can open a reference.
func (v variables) text(s string) string {
	var out strings.Builder
	rest, replaced := s, false
	for {
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			break
		}
		at := strings.LastIndex(rest[:end], "$(")
		if at < 0 {
			out.WriteString(rest[:end+1])
		} else if value, ok := v.value(rest[at+2 : end]); ok {
			out.WriteString(rest[:at])
			out.WriteString(value)
			replaced = true
		} else {
			v.note(rest[at+2 : end])
			out.WriteString(rest[:end+1])
		}
		rest = rest[end+1:]
	}
	if !replaced {
		return s
	}
	out.WriteString(rest)
	return out.String()
}

// elements replaces the references of one element of command or args, which
// becomes several elements, or none, when it is exactly one array.
func (v variables) elements(s string) []string {
	if name, ok := strings.CutPrefix(s, "$("); ok && strings.IndexByte(name, ')') == len(name)-1 {
		name = strings.TrimSuffix(name[:len(name)-1], "[*]")
		if array, ok := v.arrays[name]; ok {
			return array
		}
	}
	return []string{v.text(s)}
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
		v.faults.outside = appendOnce(v.faults.outside, reference)
	case array:
		v.faults.isolated = appendOnce(v.faults.isolated, reference)
	case mustBeDeclared(name):
		v.faults.unknown = appendOnce(v.faults.unknown, reference)
	}
}

// mustBeDeclared tells names that Tekton refuses when it does not know them.
// Any other unknown reference may be meant for a shell or for the kubelet.
func mustBeDeclared(name string) bool {
	scopes := []string{"params.", "params[", "inputs.params.", "results.", "results[", "context.taskRun.", "context.task."}
	return slices.ContainsFunc(scopes, func(scope string) bool { return strings.HasPrefix(name, scope) })
}

func appendOnce(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// apply returns a copy of value in which the references of every string are
// replaced. Keys of maps are names and stay as they are. Arrays spread in the
// fields command and args only.
func apply[T any](v variables, value T) (T, error) {
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
	if raw, err = json.Marshal(v.walk(tree)); err != nil {
		return out, fmt.Errorf("encode %T: %w", value, err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("after replacing variables: %w", err)
	}
	return out, nil
}

func (v variables) walk(tree any) any {
	switch node := tree.(type) {
	case string:
		return v.text(node)
	case []any:
		for i := range node {
			node[i] = v.walk(node[i])
		}
		return node
	case map[string]any:
		// In the order of the names, so that faults are found in one order.
		for _, key := range slices.Sorted(maps.Keys(node)) {
			list, isList := node[key].([]any)
			if isList && (key == "command" || key == "args") {
				node[key] = v.spread(list)
				continue
			}
			node[key] = v.walk(node[key])
		}
		return node
	default:
		return node
	}
}

func (v variables) spread(list []any) []any {
	out := make([]any, 0, len(list))
	for _, element := range list {
		s, ok := element.(string)
		if !ok {
			out = append(out, element)
			continue
		}
		for _, one := range v.elements(s) {
			out = append(out, one)
		}
	}
	return out
}
