package wire_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"millrace/wire"
)

// One pod, read in both formats, is the same pod: what is known of it, and what
// it decodes to.
func TestAPodIsTheSameInBothFormats(t *testing.T) {
	for seed := range uint64(200) {
		p := randomPod(rand.New(rand.NewPCG(seed, 9)))
		agree(t, scanProtobuf(t, p), &metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta})
		got, err := wire.Decode[*corev1.Pod](scanProtobuf(t, p))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(p, got); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
	fromJSON, err := wire.Decode[corev1.Pod](scan(t, `{"kind":"Pod","apiVersion":"v1",`+string(bigPod[1:])))
	if err != nil {
		t.Fatal(err)
	}
	fromProtobuf, err := wire.Decode[corev1.Pod](scanProtobuf(t, podOf(t, bigPod)))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fromJSON, fromProtobuf); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsDecodedFromProtobufDoesNotPointIntoTheObject(t *testing.T) {
	o := scanProtobuf(t, podOf(t, []byte(pod)))
	p, err := wire.Decode[corev1.Pod](o)
	if err != nil {
		t.Fatal(err)
	}
	want := marshalled(t, &p)
	clear(o.Bytes()) // nobody may do this; here it shows who looks
	if !bytes.Equal(marshalled(t, &p), want) {
		t.Error("the decoded pod has changed with the bytes it was decoded from")
	}
}

func TestAProtobufObjectKeepsNothingOfTheBufferItWasReadFrom(t *testing.T) {
	raw := sealed(t, podOf(t, []byte(pod)))
	o, err := wire.Scan(wire.Protobuf, raw)
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	v, _ := o.Label("tekton.dev/taskRun")
	if o.Key().String() != "ci/hello-pod" || v != "hello" || o.Owners()[0].Kind != "TaskRun" {
		t.Errorf("%v, %q, %v", o, v, o.Owners())
	}
	if _, err := wire.Decode[corev1.Pod](o); err != nil {
		t.Error(err)
	}
}

func TestATypeThatDoesNotFitProtobufIsATypedError(t *testing.T) {
	o := scanProtobuf(t, podOf(t, []byte(pod)))
	_, noUnmarshal := wire.Decode[unstructured.Unstructured](o)
	_, noStruct := wire.Decode[string](o)
	broken, err := wire.Scan(wire.Protobuf, around(t, tagged(2, 2, []byte("spec"))))
	if err != nil {
		t.Fatal(err)
	}
	none, badSpec := wire.Decode[*corev1.Pod](broken)
	if none != nil {
		t.Errorf("an error and %v", none)
	}
	for _, err := range []error{noUnmarshal, noStruct, badSpec} {
		if _, ok := errors.AsType[*wire.DecodeError](err); !ok {
			t.Errorf("%T: %v", err, err)
		}
	}
}
