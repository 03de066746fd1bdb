package validation

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// texts calls found with every string in a value, as its JSON has it, in an order that
// is always the same. Most values have no reference in them, and are not gone through.
func texts(value any, at *field.Path, found func(at *field.Path, text string)) {
	if reflect.ValueOf(value).IsZero() {
		return
	}
	raw, err := json.Marshal(value)
	if err != nil || !bytes.Contains(raw, []byte("$(")) {
		return // what cannot be written was not read either: the API server has refused it
	}
	var tree any
	if json.Unmarshal(raw, &tree) == nil {
		eachText(tree, at, found)
	}
}

func eachText(tree any, at *field.Path, found func(at *field.Path, text string)) {
	switch node := tree.(type) {
	case string:
		found(at, node)
	case []any:
		for i, element := range node {
			eachText(element, at.Index(i), found)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(node)) {
			eachText(node[key], at.Child(key), found)
		}
	}
}
