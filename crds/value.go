package crds

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParamType says which of the three kinds a parameter or a result is.
type ParamType string

// The kinds of a parameter or a result. The empty ParamType means: not said,
// take it from the value, else string.
const (
	ParamTypeString ParamType = "string"
	ParamTypeArray  ParamType = "array"
	ParamTypeObject ParamType = "object"
)

// ParamValue is the value of a parameter or of a result: a string, an array of
// strings, or an object whose values are strings.
//
// Its JSON is the bare value. What comes in as a JSON string, as an array of
// strings, or as an object of strings keeps its kind. Everything else (a number,
// a boolean, a mixed or nested array or object) becomes a string that holds that
// JSON text as it stands, which is how Tekton takes it: `value: 5` in YAML means
// "5", and `value: [1,2]` means "[1,2]". null is the empty string.
//
// The zero ParamValue is the empty string.
type ParamValue struct {
	// Type says which of the fields below holds the value; empty means StringVal.
	Type      ParamType
	StringVal string
	ArrayVal  []string
	ObjectVal map[string]string
}

// NewString returns s as a value.
func NewString(s string) ParamValue {
	return ParamValue{Type: ParamTypeString, StringVal: s}
}

// NewArray returns a value that is an array of these elements, which may be none.
// The value keeps the slice.
func NewArray(elements ...string) ParamValue {
	return ParamValue{Type: ParamTypeArray, ArrayVal: elements}
}

// NewObject returns a value that is an object with these keys. The value keeps
// the map.
func NewObject(keys map[string]string) ParamValue {
	return ParamValue{Type: ParamTypeObject, ObjectVal: keys}
}

// Equal tells whether two values are of one kind and hold the same; a nil array
// or map equals an empty one.
func (v ParamValue) Equal(w ParamValue) bool {
	if v.kind() != w.kind() {
		return false
	}
	switch v.kind() {
	case ParamTypeArray:
		return slices.Equal(v.ArrayVal, w.ArrayVal)
	case ParamTypeObject:
		return maps.Equal(v.ObjectVal, w.ObjectVal)
	default:
		return v.StringVal == w.StringVal
	}
}

func (v ParamValue) kind() ParamType {
	if v.Type == "" {
		return ParamTypeString
	}
	return v.Type
}

// UnmarshalJSON never fails on well-formed JSON; see ParamValue for what becomes
// of it. It replaces the whole value: nothing of an earlier one remains.
func (v *ParamValue) UnmarshalJSON(raw []byte) error {
	if array, ok := decodeAs[[]string](raw, '['); ok {
		*v = NewArray(array...)
		return nil
	}
	if object, ok := decodeAs[map[string]string](raw, '{'); ok {
		*v = NewObject(object)
		return nil
	}
	text, err := decodeText(raw)
	if err != nil {
		return fmt.Errorf("parameter value: %w", err)
	}
	*v = NewString(text)
	return nil
}

// decodeAs reads raw as a T if it opens with that byte and is one.
func decodeAs[T any](raw []byte, opens byte) (value T, ok bool) {
	if len(raw) == 0 || raw[0] != opens {
		return value, false
	}
	return value, json.Unmarshal(raw, &value) == nil
}

// decodeText reads a JSON string, or takes other JSON as its own text. That text
// is made valid UTF-8, as the decoder makes strings, since it will be written as one.
func decodeText(raw []byte) (string, error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	if !json.Valid(raw) {
		return "", fmt.Errorf("not JSON: %.40q", raw)
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
}

// MarshalJSON writes the bare value. An array or object without elements is
// written as [] or {}, never as null, so that it keeps its kind.
func (v ParamValue) MarshalJSON() ([]byte, error) {
	switch v.kind() {
	case ParamTypeString:
		return json.Marshal(v.StringVal)
	case ParamTypeArray:
		return json.Marshal(append([]string{}, v.ArrayVal...))
	case ParamTypeObject:
		if v.ObjectVal == nil {
			return []byte("{}"), nil
		}
		return json.Marshal(v.ObjectVal)
	default:
		return nil, fmt.Errorf("parameter value: unknown type %q", v.Type)
	}
}
