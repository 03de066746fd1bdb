package call

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// An operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// StatusAppend is the JSON patch (RFC 6902) that does what StatusPatch does, for a status
// of which a list has grown: it has what was put behind and not the list, so that the
// hundredth element costs what the first did. nil tells that there is no such list, or
// that something else has changed which a JSON patch cannot say without a look at what
// the server has.
//
// To a status of another version than this the server says that it is invalid, and
// means the patch: then ask it by StatusPatch, which gets a conflict, or the reason.
//
// A list has grown if it begins with the array that it was, and not with a copy.
func StatusAppend[T any](before, after T, resourceVersion string) ([]byte, error) {
	was, is := reflect.ValueOf(before), reflect.ValueOf(after)
	operations := []operation{{"test", "/metadata/resourceVersion", resourceVersion}}
	appends := false
	for i := range was.NumField() {
		old, now, path := was.Field(i), is.Field(i), "/status/"+fieldName(was.Type().Field(i))
		switch {
		case grown(old, now):
			appends = true
			for at := old.Len(); at < now.Len(); at++ {
				operations = append(operations, operation{"add", path + "/-", now.Index(at).Interface()})
			}
		case alike(old, now):
		case empty(now):
			operations = append(operations, operation{Op: "remove", Path: path})
		case now.Kind() == reflect.Slice || empty(old):
			operations = append(operations, operation{"add", path, now.Interface()})
		default:
			return nil, nil // part of it may be unknown here
		}
	}
	if !appends {
		return nil, nil
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encode the operations: %w", err)
	}
	return patch, nil
}

func grown(was, is reflect.Value) bool {
	return was.Kind() == reflect.Slice && was.Len() > 0 && is.Len() > was.Len() && was.Pointer() == is.Pointer()
}
