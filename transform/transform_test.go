package transform_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"millrace/transform"
	"millrace/wire"
)

const pod = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"shop","uid":"u1","resourceVersion":"41","labels":{"app":"web"},"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{}","note":"keep"},"managedFields":[{"manager":"kubectl"}]},"spec":{"containers":[{"name":"a","image":"i"}],"nodeName":"n1"}}`

func scan(tb testing.TB, raw string) *wire.Object {
	tb.Helper()
	o, err := wire.Scan(wire.JSON, []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return o
}

func apply(tb testing.TB, f transform.Func, o *wire.Object) *wire.Object {
	tb.Helper()
	made, err := f(o)
	if err != nil {
		tb.Fatal(err)
	}
	return made
}

func TestDefaultCutsWhatNoControllerReads(t *testing.T) {
	got := string(apply(t, transform.Default(), scan(t, pod)).Bytes())
	want := strings.NewReplacer(
		`"kubectl.kubernetes.io/last-applied-configuration":"{}",`, "",
		`,"managedFields":[{"manager":"kubectl"}]`, "",
	).Replace(pod)
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestATransformLeavesAloneWhatItHasMade(t *testing.T) {
	for name, f := range map[string]transform.Func{
		"default": transform.Default(),
		"chain":   transform.Chain(transform.Default(), transform.Cut(wire.Path{"spec"})),
		"empty":   transform.Chain(),
	} {
		once := apply(t, f, scan(t, pod))
		if twice := apply(t, f, once); twice != once {
			t.Errorf("%s: a second time makes\n%s\nof\n%s", name, twice.Bytes(), once.Bytes())
		}
	}
}

func TestACutKeepsTheFacts(t *testing.T) {
	o := scan(t, pod)
	made := apply(t, transform.Cut(wire.Path{"metadata"}), o)
	label, _ := made.Label("app")
	if made.Key() != o.Key() || made.UID() != o.UID() || made.ResourceVersion() != o.ResourceVersion() || label != "web" {
		t.Errorf("%v %s %s %s", made.Key(), made.UID(), made.ResourceVersion(), label)
	}
}

func TestAChainEndsAtTheFirstError(t *testing.T) {
	no := errors.New("no")
	called := false
	f := transform.Chain(
		transform.Default(),
		func(*wire.Object) (*wire.Object, error) { return nil, no },
		func(o *wire.Object) (*wire.Object, error) { called = true; return o, nil },
	)
	if _, err := f(scan(t, pod)); !errors.Is(err, no) || called {
		t.Errorf("%v, called %v", err, called)
	}
}

func TestTypedChangesADecodedObject(t *testing.T) {
	f := transform.Typed(func(p *corev1.Pod) { p.Spec.Containers = nil })
	made := apply(t, f, scan(t, pod))
	p, err := wire.Decode[corev1.Pod](made)
	if err != nil || len(p.Spec.Containers) != 0 || p.Spec.NodeName != "n1" {
		t.Errorf("%v, %v", p.Spec, err)
	}
	if made.Key() != scan(t, pod).Key() || made.ResourceVersion() != "41" {
		t.Errorf("%v at %s", made.Key(), made.ResourceVersion())
	}
}

func TestTypedRefusesWhatDoesNotFit(t *testing.T) {
	f := transform.Typed(func(*corev1.Pod) {})
	var decode *wire.DecodeError
	if _, err := f(scan(t, `{"metadata":{"name":"a"},"spec":5}`)); !errors.As(err, &decode) {
		t.Errorf("%v", err)
	}
}

// A resource whose status nobody here reads, and whose objects are large.
func ExampleCut() {
	smaller := transform.Chain(
		transform.Default(),
		transform.Cut(wire.Path{"status"}, wire.Path{"spec", "containers", "env"}),
	)
	o, _ := wire.Scan(wire.JSON, []byte(`{"metadata":{"name":"web","managedFields":[]},"spec":{"containers":[{"name":"a","env":[]},{"env":[],"name":"b"}]},"status":{"phase":"Running"}}`))
	kept, err := smaller(o)
	fmt.Println(string(kept.Bytes()), err)
	fmt.Println(kept.Saved(), "bytes less")
	// Output:
	// {"metadata":{"name":"web"},"spec":{"containers":[{"name":"a"},{"name":"b"}]}} <nil>
	// 66 bytes less
}
