package reference

import (
	"strconv"
	"strings"

	"millrace/crds"
)

// Next is the first reference of a text, with what is before it and after it. Without
// one all of the text is before. A name holds no "$(", so between two ")" only the
// last "$(" can open a reference.
func Next(text string) (before, name, after string, found bool) {
	for from := 0; ; {
		end := strings.IndexByte(text[from:], ')')
		if end < 0 {
			return text, "", "", false
		}
		if at := strings.LastIndex(text[from:from+end], "$("); at >= 0 {
			at, end = from+at, from+end
			return text[:at], text[at+2 : end], text[end+1:], true
		}
		from += end + 1
	}
}

// Each calls found with the name of each reference of a text, in their order.
func Each(text string, found func(name string)) {
	for more := true; more; {
		var name string
		if _, name, text, more = Next(text); more {
			found(name)
		}
	}
}

// EachOf does so for all texts of a value; those of an object in no order.
func EachOf(value crds.ParamValue, found func(name string)) {
	Each(value.StringVal, found)
	for _, element := range value.ArrayVal {
		Each(element, found)
	}
	for _, one := range value.ObjectVal {
		Each(one, found)
	}
}

// Whole is the name in a text that is one reference and nothing else.
func Whole(text string) (name string, ok bool) {
	name, opened := strings.CutPrefix(text, "$(")
	name, closed := strings.CutSuffix(name, ")")
	if !opened || !closed || strings.Contains(name, ")") {
		return "", false
	}
	return name, true
}

// Spellings are the ways to write a name of a scope.
func Spellings(scope, name string) []string {
	return []string{scope + "." + name, scope + "[" + strconv.Quote(name) + "]", scope + "['" + name + "']"}
}

// A Variable is a name of a scope, taken apart.
type Variable struct {
	Name string // of params.x[0] and params["x"][0]: x; a name with dots is only within quotes one
	Rest string // what of it is meant: "[0]", "[*]", ".key", or nothing
}

// Of takes a name of that scope apart, in any of its spellings. ok is false for what is
// no name of the scope.
func Of(scope, name string) (v Variable, ok bool) {
	rest, ok := strings.CutPrefix(name, scope)
	if !ok {
		return v, false
	}
	if after, dotted := strings.CutPrefix(rest, "."); dotted {
		end := strings.IndexAny(after, ".[")
		if end < 0 {
			end = len(after)
		}
		v = Variable{after[:end], after[end:]}
		return v, v.Name != ""
	}
	for _, quote := range []string{`"`, `'`} {
		if after, opened := strings.CutPrefix(rest, "["+quote); opened {
			v.Name, v.Rest, ok = strings.Cut(after, quote+"]")
			return v, ok && v.Name != ""
		}
	}
	return v, false
}

// Whole tells that all of an array or of an object is meant.
func (v Variable) Whole() bool { return v.Rest == "[*]" }

// Index is the number in $(params.x[0]).
func (v Variable) Index() (index int, ok bool) {
	digits, opened := strings.CutPrefix(v.Rest, "[")
	digits, closed := strings.CutSuffix(digits, "]")
	index, err := strconv.Atoi(digits)
	return index, opened && closed && err == nil
}

// Key is the key in $(params.x.key).
func (v Variable) Key() (key string, ok bool) {
	if key, ok = strings.CutPrefix(v.Rest, "."); ok {
		return key, key != ""
	}
	inner, ok := Of("", v.Rest)
	return inner.Name, ok && inner.Rest == ""
}

// plain tells names without anything that a shell, or somebody's slip, would have put
// there: they are somebody's.
func plain(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n'\"$")
}

// IsStepResult tells names of the form steps.<step>.results.<result>, with whatever of
// the result is meant.
func IsStepResult(name string) bool {
	step, result, ok := strings.Cut(strings.TrimPrefix(name, "steps."), ".results.")
	return ok && strings.HasPrefix(name, "steps.") && step != "" && result != "" && !strings.ContainsAny(name, " \n\t'\"$")
}

// IsArtifact tells Tekton's names for artifacts, which are not served.
func IsArtifact(name string) bool {
	if name == "artifacts.path" || name == "step.artifacts.path" {
		return true
	}
	parts := strings.SplitN(name, ".", 4)
	return len(parts) > 2 && (parts[0] == "steps" || parts[0] == "tasks") && (parts[2] == "inputs" || parts[2] == "outputs")
}
