package call

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

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
	forget(&before, &after)
	original, err := fieldsOf(before)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	modified, err := fieldsOf(after)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	diff := map[string]json.RawMessage{}
	for name := range original {
		if _, ok := modified[name]; !ok {
			diff[name] = json.RawMessage("null")
		}
	}
	for name, now := range modified {
		change, err := difference(original[name], now)
		if err != nil {
			return nil, fmt.Errorf("compare statuses: %s: %w", name, err)
		}
		if change != nil {
			diff[name] = change
		}
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": resourceVersion},
		"status":   diff,
	})
}

// forget empties the fields of two structs that are the same in both, and of a list
// that has changed the earlier state, which does not matter.
func forget[T any](before, after *T) {
	of, and := reflect.ValueOf(before).Elem(), reflect.ValueOf(after).Elem()
	for i := range of.NumField() {
		switch was, is := of.Field(i), and.Field(i); {
		case alike(was, is):
			was.SetZero()
			is.SetZero()
		case was.Kind() == reflect.Slice && is.Len() > 0:
			was.SetZero()
		}
	}
}

// alike takes one pointer for the same as itself without a look at what it points to.
func alike(a, b reflect.Value) bool {
	if a.Kind() == reflect.Pointer && a.Pointer() == b.Pointer() {
		return true
	}
	return equality.Semantic.DeepEqual(a.Interface(), b.Interface())
}

func fieldsOf(status any) (fields map[string]json.RawMessage, err error) {
	raw, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(raw, &fields)
}

// difference is what to patch of one field, nil if nothing. Objects are merged, all
// else is replaced.
func difference(before, after json.RawMessage) (json.RawMessage, error) {
	switch {
	case bytes.Equal(before, after):
		return nil, nil
	case bytes.HasPrefix(before, []byte("{")) && bytes.HasPrefix(after, []byte("{")):
		return jsonpatch.CreateMergePatch(before, after)
	default:
		return after, nil
	}
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
