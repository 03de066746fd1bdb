package apiserver

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// A Spoiling is what is made of an object on its way to whoever reads it. What is
// stored stays as it is.
type Spoiling int

// What can be made of an object. The first four nobody can use; the others mean
// what they did before, in more words.
const (
	Whole         Spoiling = iota
	Truncated              // its second half is missing
	Malformed              // a field of it is of another type; its name can be read
	Nameless               // its metadata are no metadata
	WrongKind              // a ConfigMap that has the object's metadata
	UnknownFields          // members that no client knows
	NullMaps               // null, or nothing, where there are no labels, annotations, owners, status
	Huge                   // 1.5 MB of what no client knows
	ManyManagers           // 10,000 entries of managedFields
)

// How much too much is.
const (
	hugeBytes    = 1_500_000
	manyManagers = 10_000
)

// spoiled is the object as the watch sends it.
func (f *follower) spoiled(o *Object, how Spoiling) []byte {
	switch {
	case how == Whole:
		return f.encoded(o)
	case f.binary():
		return sealed(o, how)
	default:
		return spoilJSON(o, how)
	}
}

// felt takes the name of what goes wrong from a list that shows the same with it
// as without: nobody is to count that.
func (s *Server) felt(a ask, p page) ask {
	v := &a.verdict
	switch {
	case v.Spoil != Whole && len(p.objects) == 0:
		v.Spoil, v.Fault = Whole, ""
	case v.Lag > 0 && p.ResourceVersion == fmt.Sprint(s.Version()):
		v.Fault = ""
	}
	return a
}

// spoilList is a list, one item of which is spoiled.
func spoilList(a ask, p page) []byte {
	item := a.verdict.Item % len(p.objects)
	if !a.binary() {
		items := make([][]byte, len(p.objects))
		for i, o := range p.objects {
			items[i] = bytes.TrimSpace(o.JSON())
		}
		items[item] = spoilJSON(p.objects[item], a.verdict.Spoil)
		head := fmt.Sprintf(`{"kind":"%sList","apiVersion":%q,"metadata":%s,"items":[`, a.resource.Kind, a.resource.apiVersion(), must(json.Marshal(p.ListMeta)))
		return fmt.Appendf(nil, "%s%s]}\n", head, bytes.Join(items, []byte(",")))
	}
	list := block(nil, 1, must(p.Marshal()))
	for i, o := range p.objects {
		body := bodyOf(o)
		if i == item {
			_, body = spoilBody(o, a.verdict.Spoil)
		}
		list = block(list, 2, body)
	}
	return seal(metav1.TypeMeta{APIVersion: a.resource.apiVersion(), Kind: a.resource.Kind + "List"}, list)
}

func spoilJSON(o *Object, how Spoiling) []byte {
	raw := bytes.TrimSpace(o.JSON())
	switch how {
	case Truncated:
		return raw[:len(raw)/2]
	case Malformed:
		return with(raw, `"labels":["none"]`)
	case Nameless:
		return bytes.Replace(raw, []byte(`"metadata":{`), []byte(`"metadata":7,"was":{`), 1)
	case WrongKind:
		return must(json.Marshal(map[string]any{"kind": "ConfigMap", "apiVersion": "v1", "metadata": o.Object["metadata"], "data": map[string]string{}}))
	case UnknownFields:
		raw = bytes.Replace(raw, []byte(`"metadata":{`), []byte(`"surprise":{"a":[1,{"b":null}]},"metadata":{"shadow":[[]],`), 1)
		return bytes.Replace(raw, []byte(`"spec":{`), []byte(`"spec":{"from the future":{"x":1e400},`), 1)
	case NullMaps:
		return nulls(o, raw)
	case Huge:
		return fmt.Appendf(nil, `%s,"huge":%q}`, raw[:len(raw)-1], strings.Repeat("x", hugeBytes))
	case ManyManagers:
		entry := `{"manager":"m","operation":"Update","apiVersion":"v1","time":"2000-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{".":{}}}}}`
		return with(raw, `"managedFields":[`+strings.Repeat(entry+",", manyManagers-1)+entry+`]`)
	default:
		return raw
	}
}

// with puts a member behind all others of the metadata, so that it is the one that
// counts, and what stands before it was read.
func with(raw []byte, member string) []byte {
	at := bytes.Index(raw, []byte(`"metadata":{`)) + len(`"metadata":`)
	d := json.NewDecoder(bytes.NewReader(raw[at:]))
	var metadata json.RawMessage
	if err := d.Decode(&metadata); err != nil {
		panic(fmt.Sprintf("the metadata of %s: %v", raw, err))
	}
	end := at + len(metadata) - 1
	return fmt.Appendf(nil, "%s,%s%s", raw[:end], member, raw[end:])
}

func nulls(o *Object, raw []byte) []byte {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, name := range []string{"labels", "annotations", "ownerReferences", "finalizers", "managedFields"} {
		if _, ok := metadata[name]; !ok {
			raw = with(raw, fmt.Sprintf("%q:null", name))
		}
	}
	if _, ok := o.Object["status"]; !ok {
		raw = fmt.Appendf(nil, `%s,"status":null}`, raw[:len(raw)-1])
	}
	return raw
}

// sealed is an object in protobuf, spoiled.
func sealed(o *Object, how Spoiling) []byte {
	about, body := spoilBody(o, how)
	return seal(about, body)
}

func spoilBody(o *Object, how Spoiling) (about metav1.TypeMeta, body []byte) {
	about = metav1.TypeMeta{APIVersion: o.resource.apiVersion(), Kind: o.resource.Kind}
	body = bodyOf(o)
	switch how {
	case Truncated:
		return about, body[:len(body)/2]
	case Malformed:
		return about, append(bytes.Clone(body), 3<<3|2, 0xff, 0x7f) // a status that is longer than what is left
	case Nameless:
		return about, append([]byte{1 << 3, 7}, body...) // metadata that are a number
	case WrongKind:
		metadata := must(metadataOf(o))
		return metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, block(nil, 1, metadata)
	case UnknownFields:
		return about, block(bytes.Clone(body), 999, []byte("from the future"))
	case NullMaps:
		return about, block(bytes.Clone(body), 3, nil) // a status with nothing in it, behind the one that counts
	case Huge:
		return about, block(bytes.Clone(body), 999, bytes.Repeat([]byte("x"), hugeBytes))
	case ManyManagers:
		return about, bodyOf(managed(o))
	default:
		return about, body
	}
}

func metadataOf(o *Object) ([]byte, error) {
	var partial metav1.PartialObjectMetadata
	if err := json.Unmarshal(o.partial(), &partial); err != nil {
		return nil, err
	}
	return partial.ObjectMeta.Marshal()
}

func managed(o *Object) *Object {
	u := o.DeepCopy()
	at := metav1.NewTime(time.Unix(0, 0))
	entries := make([]metav1.ManagedFieldsEntry, manyManagers)
	for i := range entries {
		entries[i] = metav1.ManagedFieldsEntry{
			Manager: "m", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{}}`),
		}
	}
	// Not into the unstructured: that would decode them one by one.
	object := newObject(o.resource, u, o.version)
	typed := object.typed()
	typed.(metav1.Object).SetManagedFields(entries) //nolint:forcetypeassert // each kind is one
	return object
}

// bodyOf is an object in protobuf, bare.
func bodyOf(o *Object) []byte {
	m, ok := o.typed().(interface{ Marshal() ([]byte, error) })
	if !ok {
		panic(fmt.Sprintf("a %T has no protobuf", o.typed()))
	}
	return must(m.Marshal())
}

// seal puts a body into the envelope of Kubernetes.
func seal(about metav1.TypeMeta, body []byte) []byte {
	u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: about.APIVersion, Kind: about.Kind}, Raw: body}
	return append([]byte("k8s\x00"), must(u.Marshal())...)
}

// block appends a field of protobuf that has a length.
func block(to []byte, number uint64, value []byte) []byte {
	to = binary.AppendUvarint(to, number<<3|2)
	to = binary.AppendUvarint(to, uint64(len(value)))
	return append(to, value...)
}
