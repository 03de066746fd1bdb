package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Same compares two statuses by what the server would store of them.
func Same[T any](a, b T) bool {
	rawA, errA := json.Marshal(a)
	rawB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(rawA, rawB)
}

// StatusPatch is the JSON merge patch (RFC 7386) that turns one status into the
// other on the object of exactly that resource version: it names only what
// changed, so that fields which this program does not know survive, and a write
// based on a stale view is refused.
//
// Fields that are the same are not encoded, and a list is sent as it is: else each
// child of a large PipelineRun would cost a look at all the others.
func StatusPatch[T any](before, after T, resourceVersion string) ([]byte, error) {
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	metadata, err := json.Marshal(map[string]string{"resourceVersion": resourceVersion})
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `{"metadata":%s,"status":{`, metadata)
	first := true
	for i := range was.NumField() {
		change, err := fieldPatch(was.Field(i), is.Field(i))
		name := fieldName(was.Type().Field(i))
		if err != nil {
			return nil, fmt.Errorf("compare statuses: %s: %w", name, err)
		}
		if change == nil {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteString(strconv.Quote(name) + ":")
		out.Write(change)
	}
	out.WriteString("}}")
	return out.Bytes(), nil
}

// fieldName is what a field of a status is called in JSON.
func fieldName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// fieldPatch is what to patch of a field, nil if nothing. Every field of a status is
// left out when it is empty.
func fieldPatch(was, is reflect.Value) ([]byte, error) {
	switch {
	case alike(was, is):
		return nil, nil
	case empty(is):
		return []byte("null"), nil
	}
	after, err := json.Marshal(is.Interface())
	if err != nil || is.Kind() == reflect.Slice || empty(was) {
		return after, err
	}
	before, err := json.Marshal(was.Interface())
	if err != nil {
		return nil, err
	}
	return difference(before, after)
}

// alike takes one pointer for the same as itself without a look at what it points to,
// and what is left out for the same as what is not there.
func alike(a, b reflect.Value) bool {
	if a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() || empty(a) && empty(b) {
		return true
	}
	return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
}

func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	default:
		return v.IsZero()
	}
}

// difference is what to patch of one field, nil if nothing. Objects are merged, all
// else is replaced.
func difference(before, after []byte) ([]byte, error) {
	switch {
	case bytes.Equal(before, after):
		return nil, nil
	case bytes.HasPrefix(before, []byte("{")) && bytes.HasPrefix(after, []byte("{")):
		return jsonpatch.CreateMergePatch(before, after)
	default:
		return after, nil
	}
}

// Missing are the labels or annotations that an object takes over from what it is made
// of: those of which it has none of the name.
func Missing(from, in map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range from {
		if _, ok := in[key]; !ok {
			out[key] = value
		}
	}
	return out
}

// Merged are labels or annotations with others put over them. Neither is changed.
func Merged(under, over map[string]string) map[string]string {
	out := maps.Clone(under)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, over)
	return out
}

// MetadataPatch is the merge patch that adds labels and annotations to the object
// of exactly that resource version.
func MetadataPatch(labels, annotations map[string]string, resourceVersion string) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": resourceVersion}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}
