package wire_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"millrace/wire"
)

func TestDecodeGivesAPrivateCopy(t *testing.T) {
	o := scan(t, pod)
	first, err := wire.Decode[*corev1.Pod](o)
	if err != nil {
		t.Fatal(err)
	}
	first.Labels["tekton.dev/taskRun"] = "changed"
	first.Spec.Containers[0].Args[0] = "changed"
	second, err := wire.Decode[*corev1.Pod](o)
	if err != nil {
		t.Fatal(err)
	}
	if string(o.Bytes()) != pod || second.Labels["tekton.dev/taskRun"] != "hello" || second.Spec.Containers[0].Args[0] == "changed" {
		t.Error("a change to what was decoded has reached the object")
	}
}

// The type that keeps raw bytes inside of managedFields is the one that could
// keep ours.
func TestWhatIsDecodedDoesNotPointIntoTheObject(t *testing.T) {
	o := scan(t, pod)
	p, err := wire.Decode[corev1.Pod](o)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	before := bytes.Clone(o.Bytes())
	clear(o.Bytes()) // nobody may do this; here it shows who looks
	got, err := p.Marshal()
	copy(o.Bytes(), before)
	if err != nil || !bytes.Equal(got, want) {
		t.Error("the decoded pod has changed with the bytes it was decoded from")
	}
}

func TestDecodeIsCaseSensitive(t *testing.T) {
	p, err := wire.Decode[corev1.Pod](scan(t, `{"metadata":{"name":"a"},"Spec":{"nodeName":"x"},"spec":{"NodeName":"y"}}`))
	if err != nil || p.Spec.NodeName != "" {
		t.Errorf("node %q, %v", p.Spec.NodeName, err)
	}
}

func TestAnObjectThatDoesNotFitIsATypedError(t *testing.T) {
	o := scan(t, `{"metadata":{"name":"a","namespace":"n"},"spec":{"containers":5}}`)
	_, err := wire.Decode[corev1.Pod](o)
	var decode *wire.DecodeError
	if !errors.As(err, &decode) {
		t.Fatalf("%T: %v", err, err)
	}
	if decode.Key != o.Key() || decode.Type != "v1.Pod" || !strings.Contains(err.Error(), "n/a") {
		t.Errorf("%v of type %q: %v", decode.Key, decode.Type, err)
	}
}

func TestAnItemOfAListDecodesWithItsKind(t *testing.T) {
	items, _, err := list(`{"kind":"PodList","apiVersion":"v1","items":[` + pod + `]}`)
	if err != nil {
		t.Fatal(err)
	}
	u, err := wire.Decode[unstructured.Unstructured](items[0])
	if err != nil || u.GetKind() != "Pod" || u.GetAPIVersion() != "v1" {
		t.Errorf("%s %s, %v", u.GetAPIVersion(), u.GetKind(), err)
	}
}
