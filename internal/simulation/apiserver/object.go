package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// An Object is one version of an object. It never changes; its encodings are
// made when somebody asks, and once.
type Object struct {
	*unstructured.Unstructured

	resource *Resource
	version  uint64
	json     func() []byte
	typed    func() runtime.Object // nil for a CRD
	proto    func() []byte
}

func newObject(r *Resource, u *unstructured.Unstructured, version uint64) *Object {
	o := &Object{Unstructured: u, resource: r, version: version}
	o.json = sync.OnceValue(func() []byte { return must(u.MarshalJSON()) })
	if r.builtIn() {
		o.typed = sync.OnceValue(func() runtime.Object { return typed(r, u) })
		o.proto = sync.OnceValue(func() []byte { return encodeProto(o.typed()) })
	}
	return o
}

func typed(r *Resource, u *unstructured.Unstructured) runtime.Object {
	object := r.object()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		panic(fmt.Sprintf("a %s that is none: %v", r.Kind, err))
	}
	return object
}

func encodeProto(object runtime.Object) []byte {
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(object, &out); err != nil {
		panic(fmt.Sprintf("encode %T: %v", object, err))
	}
	return out.Bytes()
}

// Into decodes the object.
func Into[T any](o *Object) *T {
	into := new(T)
	if err := json.Unmarshal(o.json(), into); err != nil {
		panic(fmt.Sprintf("a %s that is no %T: %v", o.resource.Kind, into, err))
	}
	return into
}

// JSON is the object's encoding, not to be changed.
func (o *Object) JSON() []byte { return o.json() }

// Version is its resource version, as a number.
func (o *Object) Version() uint64 { return o.version }

// partial is the object without spec and status.
func (o *Object) partial() []byte {
	return must(json.Marshal(map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": metav1.SchemeGroupVersion.String(), "metadata": o.Object["metadata"],
	}))
}

// decode reads a body of either encoding.
func decode(r *Resource, body []byte) (*unstructured.Unstructured, error) {
	if !bytes.HasPrefix(body, []byte("k8s\x00")) {
		u := &unstructured.Unstructured{}
		return u, u.UnmarshalJSON(body)
	}
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return nil, err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion(r.apiVersion())
	u.SetKind(r.Kind)
	return u, nil
}

func decodeOptions(body []byte) (metav1.DeleteOptions, error) {
	var o metav1.DeleteOptions
	if len(body) == 0 {
		return o, nil
	}
	if !bytes.HasPrefix(body, []byte("k8s\x00")) {
		return o, json.Unmarshal(body, &o)
	}
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return o, err
	}
	options, ok := decoded.(*metav1.DeleteOptions)
	if !ok {
		return o, fmt.Errorf("the body of a deletion is a %T", decoded)
	}
	return *options, nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
