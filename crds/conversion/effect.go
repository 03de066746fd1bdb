package conversion

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/json"
)

// WithoutEffect says of an object of V1, as JSON, which fields of its spec it has as
// V1Beta1 alone: they are kept, and mean nothing. One sentence a place, for a warning;
// none for what is no object.
func WithoutEffect(raw []byte) (sentences []string) {
	var object map[string]any
	if !bytes.Contains(raw, []byte("tekton.dev/v1beta1")) || json.Unmarshal(raw, &object) != nil {
		return nil // as a rule, at the first
	}
	for _, f := range tektonFields(object["kind"]) {
		if _, ok := annotationOf(object, f.annotation); ok && f.parent == "spec" {
			sentences = append(sentences, sentence(f.parent, f.field))
		}
	}
	for _, c := range takeKept(object, AnnotationKept) {
		// What was something else in v1 has its effect as that.
		if len(c.Was) == 0 && len(c.At) > 0 && c.At[0] == "spec" {
			sentences = append(sentences, sentence(spell(c.At), slices.Sorted(maps.Keys(c.Is))...))
		}
	}
	return sentences
}

func sentence(place string, fields ...string) string {
	if len(fields) == 1 {
		return fmt.Sprintf("%s.%s: v1 has no such field, and it has no effect: leave it out", place, fields[0])
	}
	return fmt.Sprintf("%s: v1 has no fields %s, and they have no effect: leave them out", place, strings.Join(fields, ", "))
}

// spell writes a way as people do: spec.steps[compile].
func spell(at []any) string {
	var path strings.Builder
	for _, step := range at {
		switch step := step.(type) {
		case string:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			path.WriteString(step)
		case map[string]any:
			if name, ok := step["name"]; ok {
				fmt.Fprintf(&path, "[%v]", name)
			} else {
				fmt.Fprintf(&path, "[%v]", step["index"])
			}
		}
	}
	return path.String()
}
