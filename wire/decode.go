package wire

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// DecodeError is an object that was scanned, and is kept, and does not fit the
// type that somebody wants to read it as: stored under an older schema, or by
// somebody with other types. It concerns that one object and that one reader.
type DecodeError struct {
	Key  types.NamespacedName
	Type string // the Go type that was asked for
	Err  error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("decode %s as %s: %v", e.Key, e.Type, e.Err)
}

func (e *DecodeError) Unwrap() error { return e.Err }

// Decode makes a T of the object, with the decoder that Kubernetes uses: names
// of fields are case-sensitive, unknown ones are ignored. The result is the
// caller's alone: it may be changed at will, and nothing of it is shared with
// the object. An error is a *DecodeError, and the result is then the zero T.
func Decode[T any](o *Object) (T, error) {
	var into, zero T
	err := ErrFormat
	if o.format == JSON {
		err = json.Unmarshal(o.raw, &into)
	}
	if err != nil {
		return zero, &DecodeError{Key: o.key, Type: reflect.TypeFor[T]().String(), Err: err}
	}
	return into, nil
}
