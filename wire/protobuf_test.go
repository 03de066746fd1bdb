package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/framer"
	"k8s.io/apimachinery/pkg/util/json"

	"millrace/wire"
)

// What the tests of protobuf read is written by the encoders of apimachinery
// that the server has.

type marshaler interface{ Marshal() ([]byte, error) }

func marshalled(tb testing.TB, m marshaler) []byte {
	tb.Helper()
	b, err := m.Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// sealed is an object that comes alone.
func sealed(tb testing.TB, o runtime.Object) []byte {
	tb.Helper()
	var b bytes.Buffer
	if err := protobuf.NewSerializer(nil, nil).Encode(o, &b); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// around is a body in an envelope that says nothing.
func around(tb testing.TB, body []byte) []byte {
	tb.Helper()
	return append([]byte("k8s\x00"), marshalled(tb, &runtime.Unknown{Raw: body})...)
}

func scanProtobuf(tb testing.TB, o runtime.Object) *wire.Object {
	tb.Helper()
	scanned, err := wire.Scan(wire.Protobuf, sealed(tb, o))
	if err != nil {
		tb.Fatal(err)
	}
	return scanned
}

// framed is one event of a watch.
func framed(tb testing.TB, kind string, object []byte) []byte {
	tb.Helper()
	return frame(tb, marshalled(tb, &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}))
}

func frame(tb testing.TB, content []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	if _, err := framer.NewLengthDelimitedFrameWriter(&b).Write(content); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func podEvent(tb testing.TB, kind, name, rv string) []byte {
	tb.Helper()
	return framed(tb, kind, sealed(tb, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, ResourceVersion: rv},
	}))
}

// podOf is the pod that JSON describes, as a server has it.
func podOf(tb testing.TB, raw []byte) *corev1.Pod {
	tb.Helper()
	p := new(corev1.Pod)
	if err := json.Unmarshal(raw, p); err != nil {
		tb.Fatal(err)
	}
	p.APIVersion, p.Kind = "v1", "Pod"
	return p
}

// randomPod is a pod with all that a pod has in its metadata, or some of it.
func randomPod(r *rand.Rand) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	maybe := func(set func()) {
		if r.IntN(4) > 0 {
			set()
		}
	}
	word := func() string {
		return fmt.Sprintf("%.*s", r.IntN(30), "é-word-of-some-length-é-"+fmt.Sprint(r.IntN(1000)))
	}
	moment := func() metav1.Time { return metav1.Unix(r.Int64N(1<<33)-1<<32, 0) }
	p.Name = fmt.Sprintf("pod-%d", r.IntN(1e6))
	maybe(func() { p.Namespace = word() })
	maybe(func() { p.UID = types.UID(word()) })
	maybe(func() { p.ResourceVersion = fmt.Sprint(r.Uint64()) })
	maybe(func() { p.Generation = r.Int64() - 1<<62 })
	maybe(func() { p.CreationTimestamp = moment() })
	maybe(func() {
		at, grace := moment(), r.Int64N(60)
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &at, &grace
	})
	maybe(func() { p.Finalizers = []string{word(), word()} })
	for range r.IntN(5) {
		metav1.SetMetaDataLabel(&p.ObjectMeta, word(), word())
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, word(), word())
	}
	maybe(func() { metav1.SetMetaDataAnnotation(&p.ObjectMeta, lastApplied[2], `{"a":"`+word()+`"}`) })
	for range r.IntN(3) {
		yes := r.IntN(2) == 0
		p.OwnerReferences = append(p.OwnerReferences, metav1.OwnerReference{APIVersion: word(), Kind: word(), Name: word(), UID: types.UID(word()), Controller: &yes})
	}
	for range r.IntN(4) {
		at := moment()
		p.ManagedFields = append(p.ManagedFields, metav1.ManagedFieldsEntry{Manager: word(), Operation: "Update", Time: &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:a":{"f:` + word() + `":{}}}`)})
	}
	for range r.IntN(4) {
		p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: word(), Image: word(), Args: []string{word(), word()}, Env: []corev1.EnvVar{{Name: word(), Value: word()}}})
	}
	p.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: word()}
	return p
}

// tagged is a field whose tag and length are in their usual form.
func tagged(number, kind int, value []byte) []byte {
	b := binary.AppendUvarint(nil, uint64(number<<3|kind))
	if kind == 2 {
		b = binary.AppendUvarint(b, uint64(len(value)))
	}
	return append(b, value...)
}
