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
	if err := protobuf.NewSerializer(nil, nil).Encode(object, &out); err != nil {
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

// metadata is the object without spec and status.
func (o *Object) metadata() *metav1.PartialObjectMetadata {
	return must(decodedAs[metav1.PartialObjectMetadata](o.partial()))
}

func decodedAs[T any](raw []byte) (*T, error) {
	into := new(T)
	return into, json.Unmarshal(raw, into)
}

// partial is the same in JSON.
func (o *Object) partial() []byte {
	return must(json.Marshal(map[string]any{
		"kind": "PartialObjectMetadata", "apiVersion": metav1.SchemeGroupVersion.String(), "metadata": o.Object["metadata"],
	}))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
