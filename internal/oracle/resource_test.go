package oracle

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"millrace/wire"
)

// resource is what a server has objects of, and how it spells them.
type resource struct {
	name string
	schema.GroupVersionResource
	kind string
	// typed: client-go asks for protobuf, and decodes into a Go type. Otherwise it
	// asks for JSON, and decodes into maps. Ours does the same.
	typed bool
	// format is that of the answers: a server need not have protobuf.
	format wire.Format
	// label has an index, and these are its values; the last is nobody's.
	label  string
	values []string
	// facets are values of its objects that ours takes out as it scans.
	facets []wire.Facet
	// tape is what was recorded of it; nil: its objects are made up.
	tape *tape
}

func (r resource) String() string { return r.name }

var colours = []string{"red", "green", "", "none"}

// anything has objects whose fields are any JSON values.
func anything() resource {
	return resource{
		name: "anything", GroupVersionResource: corev1.SchemeGroupVersion.WithResource("pods"), kind: "Pod", format: wire.JSON,
		label: "colour", values: colours,
		facets: []wire.Facet{wire.NewFacet(`metadata.labels["colour"]`), wire.NewFacet("spec.a"), wire.NewFacet("status")},
	}
}

// pods have protobuf, and podsInJSON are those of a server that has none, though
// it is asked for it.
func pods() resource {
	r := anything()
	r.name, r.typed, r.format = "pods", true, wire.Protobuf
	r.facets = []wire.Facet{
		wire.NewFacetOf[corev1.Pod]("status.phase"), wire.NewFacetOf[corev1.Pod](`status.conditions[type=Ready].status`),
		wire.NewFacetOf[corev1.Pod]("spec.containers[].name"), wire.NewFacetOf[corev1.Pod]("status.containerStatuses[#]"),
	}
	return r
}

func podsInJSON() resource {
	r := pods()
	r.name, r.format = "pods in JSON", wire.JSON
	return r
}

// restConfig is how a client asks for it.
func (r resource) restConfig() *rest.Config {
	cfg := &rest.Config{Host: "http://api", QPS: -1}
	if r.typed {
		cfg.ContentType = runtime.ContentTypeProtobuf
		cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	return cfg
}

func (r resource) custom() bool { return r.Group != "" }

func (r resource) protobuf() bool { return r.format == wire.Protobuf }

func (r resource) apiVersion() string { return r.GroupVersion().String() }

// contentType is that of answers, streams or not.
func (r resource) contentType(stream bool) string {
	switch {
	case !r.protobuf():
		return runtime.ContentTypeJSON
	case stream:
		return runtime.ContentTypeProtobuf + ";stream=watch"
	}
	return runtime.ContentTypeProtobuf
}

// item is an object as a list shows it: without what the list says for all, if
// the kind is built in.
func (r resource) item(alone []byte) []byte {
	switch {
	case r.protobuf():
		var u runtime.Unknown
		if err := u.Unmarshal(alone[4:]); err != nil {
			panic(err)
		}
		return u.Raw
	case r.custom():
		return alone
	}
	return append([]byte("{"), bytes.TrimPrefix(alone, []byte(r.head()))...)
}

// alone is an object, of which an item is given, as an event shows it.
func (r resource) alone(item []byte) []byte {
	switch {
	case r.protobuf():
		return sealed(r.apiVersion(), r.kind, item)
	case r.custom():
		return item
	}
	return append([]byte(r.head()), item[1:]...)
}

// head is how JSON of a built-in kind begins.
func (r resource) head() string {
	return fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, r.kind, r.apiVersion())
}

// sealed is a protobuf message in its envelope.
func sealed(apiVersion, kind string, body []byte) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: apiVersion, Kind: kind}, Raw: body}
	return append([]byte("k8s\x00"), marshal(&u)...)
}

func marshal(m interface{ Marshal() ([]byte, error) }) []byte {
	raw, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return raw
}

// event is a frame of a watch.
func (r resource) event(kind string, object []byte) []byte {
	if !r.protobuf() {
		return fmt.Appendf(nil, `{"type":%q,"object":%s}`+"\n", kind, object)
	}
	frame := marshal(&metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}})
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...)
}

// bookmark is the object of a BOOKMARK event.
func (r resource) bookmark(version int, endsInitial bool) []byte {
	meta := metav1.ObjectMeta{ResourceVersion: strconv.Itoa(version)}
	if endsInitial {
		meta.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	if r.protobuf() {
		return sealed(r.apiVersion(), r.kind, marshal(&corev1.Pod{ObjectMeta: meta}))
	}
	raw, err := json.Marshal(map[string]any{"kind": r.kind, "apiVersion": r.apiVersion(), "metadata": meta})
	if err != nil {
		panic(err)
	}
	return raw
}

// status is an answer that is an error, or the object of an ERROR event.
func (r resource) status(code int, reason, message string) []byte {
	s := metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: metav1.StatusReason(reason), Message: message}
	if r.protobuf() {
		return sealed("v1", "Status", marshal(&s))
	}
	s.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return raw
}

// list is a page.
func (r resource) list(meta metav1.ListMeta, items [][]byte) []byte {
	if r.protobuf() {
		body := appendBlock(nil, 1, marshal(&meta))
		for _, each := range items {
			body = appendBlock(body, 2, each)
		}
		return sealed(r.apiVersion(), r.kind+"List", body)
	}
	raw, err := json.Marshal(meta)
	if err != nil {
		panic(err)
	}
	all := bytes.Join(items, []byte(","))
	if r.custom() {
		return fmt.Appendf(nil, `{"apiVersion":%q,"items":[%s],"kind":%q,"metadata":%s}`+"\n", r.apiVersion(), all, r.kind+"List", sorted(raw))
	}
	return fmt.Appendf(nil, `{"kind":%q,"apiVersion":%q,"metadata":%s,"items":[%s]}`+"\n", r.kind+"List", r.apiVersion(), raw, all)
}

// appendBlock is one field of a protobuf message.
func appendBlock(to []byte, number byte, value []byte) []byte {
	to = binary.AppendUvarint(append(to, number<<3|2), uint64(len(value)))
	return append(to, value...)
}

// sorted has the members of an object in the order of their names, in which a
// server spells what is custom.
func sorted(raw []byte) []byte {
	var members map[string]any
	if err := json.Unmarshal(raw, &members); err != nil {
		panic(err)
	}
	raw, err := json.Marshal(members)
	if err != nil {
		panic(err)
	}
	return raw
}

// torn is the beginning of an event, and no more.
func (r resource) torn() []byte {
	if r.protobuf() {
		return r.event("MODIFIED", sealed(r.apiVersion(), r.kind, nil))[:9]
	}
	return []byte(`{"type":"MODIFIED","object":{"kind":"Pod","metadata":{"na`)
}

// at is an item as of another resourceVersion.
func (r resource) at(item []byte, from, to int) []byte {
	if !r.protobuf() {
		return bytes.Replace(item, fmt.Appendf(nil, `"resourceVersion":"%d"`, from), fmt.Appendf(nil, `"resourceVersion":"%d"`, to), 1)
	}
	var pod corev1.Pod
	if err := pod.Unmarshal(item); err != nil {
		panic(err)
	}
	pod.ResourceVersion = strconv.Itoa(to)
	return marshal(&pod)
}

// spoilt is an item that has its key and its version, and is no object: its
// generation is a text, or its metadata has a field of no type that there is.
func (r resource) spoilt(item []byte) []byte {
	if r.protobuf() {
		return appendBlock(bytes.Clone(item), 1, []byte{7})
	}
	return bytes.Replace(item, []byte(`"generation":`), []byte(`"generation":"many","was":`), 1)
}
