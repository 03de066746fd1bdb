package server

import (
	"encoding/binary"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"millrace/wire"
)

const magic = "k8s\x00"

// appendEvent appends one frame of a watch.
func appendEvent(b []byte, f wire.Format, kind string, raw []byte) []byte {
	if f == wire.JSON {
		b = append(b, `{"type":"`...)
		b = append(b, kind...)
		b = append(b, `","object":`...)
		b = append(b, raw...)
		return append(b, "}\n"...)
	}
	event := metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: raw}}
	n := event.Size()
	b = binary.BigEndian.AppendUint32(b, uint32(n))
	b = append(b, make([]byte, n)...)
	if _, err := event.MarshalTo(b[len(b)-n:]); err != nil {
		panic(err) // it has the room that it asked for
	}
	return b
}

// object is the object in a frame, which is n bytes long.
func object(f wire.Format, frame []byte, n int) []byte {
	to := len(frame)
	if f == wire.JSON {
		to -= len("}\n")
	}
	return frame[to-n : to : to]
}

// bookmark is the object of a BOOKMARK event.
func (r Resource) bookmark(f wire.Format, version string, endsList bool) []byte {
	kind, apiVersion := r.kind()
	meta := metav1.ObjectMeta{ResourceVersion: version}
	if endsList {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind, APIVersion: apiVersion}, ObjectMeta: meta}
	if f == wire.JSON {
		return must(json.Marshal(object))
	}
	return envelope(kind, apiVersion, must((&corev1.Pod{ObjectMeta: meta}).Marshal()))
}

// expired is the object of an ERROR event.
func expired(f wire.Format) []byte {
	status := &metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: 410,
		Message: "too old resource version",
	}
	if f == wire.JSON {
		return must(json.Marshal(status))
	}
	return envelope("Status", "v1", must(status.Marshal()))
}

func envelope(kind, apiVersion string, body []byte) []byte {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{Kind: kind, APIVersion: apiVersion}, Raw: body}
	return append([]byte(magic), must(unknown.Marshal())...)
}

// page is a list of objects, which are given as they come alone.
func (r Resource) page(f wire.Format, version, next string, objects [][]byte) []byte {
	kind, apiVersion := r.kind()
	if f == wire.Protobuf {
		return r.protobufPage(version, next, objects)
	}
	b := fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q,"continue":%q},"items":[`, kind+"List", apiVersion, version, next)
	for i, object := range objects {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, r.item(object)...)
	}
	return append(b, "]}\n"...)
}

// item is how an object stands in a list: one of a built-in kind does not say
// what it is there.
func (r Resource) item(object []byte) []byte {
	const head = `{"kind":"Pod","apiVersion":"v1",`
	if r != Pods {
		return object
	}
	return append([]byte("{"), object[len(head):]...)
}

func (r Resource) protobufPage(version, next string, objects [][]byte) []byte {
	kind, apiVersion := r.kind()
	list := must((&corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: next}}).Marshal())
	const items = 2<<3 | 2 // the field's number, and that it has a length
	for _, object := range objects {
		var unknown runtime.Unknown
		if err := unknown.Unmarshal(object[len(magic):]); err != nil {
			panic(err) // it was encoded here
		}
		list = append(list, items)
		list = binary.AppendUvarint(list, uint64(len(unknown.Raw)))
		list = append(list, unknown.Raw...)
	}
	return envelope(kind+"List", apiVersion, list)
}

// must takes the result of encoding what was made here.
func must(raw []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return raw
}
