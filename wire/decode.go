package wire

import (
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
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
//
// An object in protobuf needs a T, or *T, with the method Unmarshal([]byte)
// error of generated types, such as corev1.Pod; there are none for custom
// resources, nor for unstructured ones.
func Decode[T any](o *Object) (T, error) {
	var into, zero T
	var err error
	if o.format == Protobuf {
		err = o.unmarshal(&into, reflect.ValueOf(&into).Elem())
	} else {
		err = json.Unmarshal(o.Bytes(), &into)
	}
	if err != nil {
		return zero, &DecodeError{Key: o.key, Type: reflect.TypeFor[T]().String(), Err: err}
	}
	return into, nil
}

var errNoUnmarshal = errors.New("the object is protobuf, and the type has no Unmarshal for that")

// unmarshal decodes a protobuf object. into is the address of a T, which may be
// a pointer itself; value is that T.
func (o *Object) unmarshal(into any, value reflect.Value) error {
	if value.Kind() == reflect.Pointer {
		value.Set(reflect.New(value.Type().Elem()))
		into = value.Interface()
	}
	t, ok := into.(interface{ Unmarshal(data []byte) error })
	if !ok {
		return errNoUnmarshal
	}
	apiVersion, kind, body := o.sealed()
	// Generated types copy what they keep.
	if err := t.Unmarshal(body); err != nil {
		return fmt.Errorf("unmarshal: %w", err)
	}
	// What it is stands in the envelope, where the type cannot see it.
	if t, ok := into.(interface{ GetObjectKind() schema.ObjectKind }); ok {
		t.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(string(apiVersion), string(kind)))
	}
	return nil
}
