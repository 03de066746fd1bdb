package apiserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
)

// An Object is one version of an object. It never changes; its encodings, and what
// it is in Go, are made when somebody asks, and once.
type Object struct {
	*unstructured.Unstructured

	resource *Resource
	version  uint64
	key      types.NamespacedName
	uid      types.UID
	owners   func() []metav1.OwnerReference
	json     func() []byte
	typed    func() any // of the type that its resource has
	proto    func() []byte
}

func newObject(r *Resource, u *unstructured.Unstructured, version uint64) *Object {
	o := &Object{
		Unstructured: u, resource: r, version: version,
		key: types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}, uid: u.GetUID(),
	}
	o.owners = sync.OnceValue(u.GetOwnerReferences)
	o.json = sync.OnceValue(func() []byte { return must(u.MarshalJSON()) })
	if r.builtIn() {
		o.typed = sync.OnceValue(func() any { return typed(r, u) })
		o.proto = sync.OnceValue(func() []byte { return encodeProto(o.builtIn()) })
	} else {
		o.typed = sync.OnceValue(func() any { return decoded(o, r.custom()) })
	}
	return o
}

// Key is the object's namespace and name. It and the three that follow are asked for
// so often that the fields of an unstructured object are too far away.
func (o *Object) Key() types.NamespacedName { return o.key }

// GetNamespace is that of metav1.Object.
func (o *Object) GetNamespace() string { return o.key.Namespace }

// GetName is that of metav1.Object.
func (o *Object) GetName() string { return o.key.Name }

// GetUID is that of metav1.Object.
func (o *Object) GetUID() types.UID { return o.uid }

// GetOwnerReferences is that of metav1.Object. What it returns is not to be changed.
func (o *Object) GetOwnerReferences() []metav1.OwnerReference { return o.owners() }

func typed(r *Resource, u *unstructured.Unstructured) runtime.Object {
	object := r.object()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, object); err != nil {
		panic(fmt.Sprintf("a %s that is none: %v", r.Kind, err))
	}
	return object
}

// builtIn is the object in Go, not to be changed, if its kind is a built-in one.
func (o *Object) builtIn() runtime.Object {
	return o.typed().(runtime.Object) //nolint:forcetypeassert // each built-in kind is one
}

func encodeProto(object runtime.Object) []byte {
	var out bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(object, &out); err != nil {
		panic(fmt.Sprintf("encode %T: %v", object, err))
	}
	return out.Bytes()
}

// As is the object in Go, as the type of its kind. It is one for all who ask, and not
// to be changed: half of a storm's time went into decoding it for each of them.
func As[T any](o *Object) *T {
	return o.typed().(*T) //nolint:forcetypeassert // who asks for a pod has looked at the resource
}

// into is the object in Go for who wants to change it, as any type.
func into[T any](o *Object) *T {
	if shared, ok := o.typed().(*T); ok && o.resource.builtIn() {
		return any(any(shared).(runtime.Object).DeepCopyObject()).(*T) //nolint:forcetypeassert // a copy is of the same type
	}
	return decoded(o, new(T))
}

// decoded decodes the object.
func decoded[T any](o *Object, into T) T {
	if err := json.Unmarshal(o.json(), into); err != nil {
		panic(fmt.Sprintf("a %s that is no %T: %v", o.resource.Kind, into, err))
	}
	return into
}

// withOwnMetadata is a copy of which the metadata and the fields beside them may be
// changed, but not what is in those.
func (o *Object) withOwnMetadata() *unstructured.Unstructured {
	fields := maps.Clone(o.Object)
	fields["metadata"] = runtime.DeepCopyJSONValue(fields["metadata"])
	return &unstructured.Unstructured{Object: fields}
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
