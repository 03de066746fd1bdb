package wire_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/kubernetes/scheme"

	"millrace/wire"
)

func TestChangedInProtobuf(t *testing.T) {
	status, labels := wire.Path{"status"}, wire.Path{"metadata", "labels"}
	tests := []struct {
		name   string
		edit   func(*corev1.Pod)
		except []wire.Path
		want   bool
	}{
		{"nothing", func(*corev1.Pod) {}, nil, false},
		{"the resourceVersion", func(p *corev1.Pod) { p.ResourceVersion = "10473" }, nil, false},
		{"no resourceVersion", func(p *corev1.Pod) { p.ResourceVersion = "" }, nil, false},
		{"managedFields", func(p *corev1.Pod) { p.ManagedFields = nil }, nil, false},
		{"the status", func(p *corev1.Pod) { p.Status.Phase = "Failed" }, nil, true},
		{"the status, excepted", func(p *corev1.Pod) { p.Status.Phase = "Failed" }, []wire.Path{status}, false},
		{"no status, excepted", func(p *corev1.Pod) { p.Status.Reset() }, []wire.Path{status}, false},
		{"a field of the status, which nobody knows", func(p *corev1.Pod) { p.Status.Phase = "Failed" }, []wire.Path{{"status", "phase"}}, true},
		{"the spec", func(p *corev1.Pod) { p.Spec.NodeName = "n" }, []wire.Path{status}, true},
		{"the spec, which nobody knows", func(p *corev1.Pod) { p.Spec.NodeName = "n" }, []wire.Path{{"spec"}}, true},
		{"a label", func(p *corev1.Pod) { p.Labels["a"] = "b" }, nil, true},
		{"labels, excepted", func(p *corev1.Pod) { p.Labels = nil }, []wire.Path{labels}, false},
		{"one label, excepted", func(p *corev1.Pod) { p.Labels["a"] = "b" }, []wire.Path{{"metadata", "labels", "a"}}, false},
		{"another label", func(p *corev1.Pod) { p.Labels["b"] = "b" }, []wire.Path{{"metadata", "labels", "a"}}, true},
		{"an annotation, excepted", func(p *corev1.Pod) { delete(p.Annotations, lastApplied[2]) }, []wire.Path{lastApplied}, false},
		{"an owner", func(p *corev1.Pod) { p.OwnerReferences = nil }, nil, true},
		{"a field of an owner, excepted", func(p *corev1.Pod) { p.OwnerReferences[0].Name = "x" }, []wire.Path{{"metadata", "ownerReferences", "name"}}, false},
		{"an owner more, of which a field is excepted", func(p *corev1.Pod) { p.OwnerReferences = append(p.OwnerReferences, p.OwnerReferences[0]) }, []wire.Path{{"metadata", "ownerReferences", "name"}}, true},
		{"deletion", func(p *corev1.Pod) { p.DeletionTimestamp = p.CreationTimestamp.DeepCopy() }, []wire.Path{status}, true},
		{"all metadata, excepted", func(p *corev1.Pod) { p.ObjectMeta.Reset() }, []wire.Path{{"metadata"}}, false},
		{"the kind", func(p *corev1.Pod) { p.Kind = "Job" }, nil, true},
		{"more exceptions than can be followed", func(p *corev1.Pod) { p.ResourceVersion = "1" }, make([]wire.Path, 63), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			before, after := podOf(t, []byte(pod)), podOf(t, []byte(pod))
			test.edit(after)
			a, b := scanProtobuf(t, before), scanProtobuf(t, after)
			if got := wire.Changed(a, b, test.except...); got != test.want {
				t.Errorf("changed: %v", got)
			}
			if got := wire.Changed(b, a, test.except...); got != test.want {
				t.Errorf("changed, the other way round: %v", got)
			}
		})
	}
}

// Metadata with nothing in it that counts is like none.
func TestMetadataOfWhichNothingCountsIsNoChange(t *testing.T) {
	object := func(fields ...[]byte) *wire.Object {
		o, err := wire.Scan(wire.Protobuf, around(t, bytes.Join(fields, nil)))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	spec := tagged(2, 2, []byte("spec"))
	none, version, name := object(spec), object(tagged(1, 2, tagged(6, 2, []byte("7"))), spec), object(tagged(1, 2, tagged(1, 2, []byte("a"))), spec)
	check(t, "a resourceVersion", wire.Changed(none, version), false)
	check(t, "a resourceVersion less", wire.Changed(version, none), false)
	check(t, "a name", wire.Changed(none, name), true)
	check(t, "a name less", wire.Changed(name, version), true)
}

// Two states of a pod have changed if their decoded pods differ in what counts.
func TestChangedInProtobufAgreesWithDecoding(t *testing.T) {
	status := wire.Path{"status"}
	changed := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 11))
		a := randomPod(r)
		b := a.DeepCopy()
		edit(r, b, randomPod(r))
		x, y := scanProtobuf(t, a), scanProtobuf(t, b)
		for _, p := range []*corev1.Pod{a, b} {
			p.ResourceVersion, p.ManagedFields, p.Status = "", nil, corev1.PodStatus{}
			delete(p.Annotations, lastApplied[2])
		}
		want := !equality.Semantic.DeepEqual(a, b)
		if got := wire.Changed(x, y, status, lastApplied); got != want {
			t.Fatalf("seed %d: changed: %v", seed, got)
		}
		if want {
			changed++
		}
	}
	if changed < 500 || changed > 1500 {
		t.Errorf("%d of 2000 have changed: the test has lost its point", changed)
	}
}

// edit gives a pod some fields of another.
func edit(r *rand.Rand, p, other *corev1.Pod) {
	for range r.IntN(3) {
		switch r.IntN(9) {
		case 0:
			p.Labels = other.Labels
		case 1:
			p.Annotations = other.Annotations
		case 2:
			p.OwnerReferences = other.OwnerReferences
		case 3:
			p.Spec = other.Spec
		case 4, 5:
			p.Status = other.Status
		case 6, 7:
			p.ManagedFields = other.ManagedFields
		case 8:
			p.ResourceVersion = other.ResourceVersion
		}
	}
}

func TestAnotherEncodingIsAChange(t *testing.T) {
	if !wire.Changed(scan(t, pod), scanProtobuf(t, podOf(t, []byte(pod)))) {
		t.Error("unchanged")
	}
}

// A secret has its type where a pod has its status.
func TestAFieldOfAnotherNameIsNotTheStatus(t *testing.T) {
	secret := func(kind string) *wire.Object {
		s := &corev1.Secret{Type: corev1.SecretType(kind)}
		s.Kind, s.APIVersion = "Secret", "v1"
		return scanProtobuf(t, s)
	}
	if !wire.Changed(secret("a"), secret("b"), wire.Path{"status"}) {
		t.Error("unchanged")
	}
}

// The kinds of which the status can be excepted are those that have one, in the
// field that we take for it. Kinds that nobody can watch are left out.
func TestTheStatusIsKnownOfEveryKindThatHasOne(t *testing.T) {
	known := 0
	for gvk, typ := range scheme.Scheme.AllKnownTypes() {
		meta, isObject := typ.FieldByName("ObjectMeta")
		if !isObject || !strings.Contains(meta.Tag.Get("protobuf"), "bytes,1,") {
			continue
		}
		has := false
		if status, ok := typ.FieldByName("Status"); ok {
			has = strings.Contains(status.Tag.Get("protobuf"), "bytes,3,")
		}
		taken := statusIsTaken(t, gvk.GroupVersion().String(), gvk.Kind)
		if taken && !has || has && !taken && !onlyCreated(gvk.Kind) {
			t.Errorf("%v: has a status in field 3: %v, taken for one: %v", gvk, has, taken)
		}
		if taken {
			known++
		}
	}
	if known < 30 {
		t.Errorf("only %d kinds", known)
	}
	if statusIsTaken(t, "example.com/v1", "Pod") {
		t.Error("a Pod that is not Kubernetes' is taken for one")
	}
}

func onlyCreated(kind string) bool {
	return strings.HasSuffix(kind, "Review") || strings.HasSuffix(kind, "Request") || kind == "Scale" || kind == "Eviction"
}

func statusIsTaken(t *testing.T, apiVersion, kind string) bool {
	t.Helper()
	b := append([]byte("k8s\x00"), tagged(1, 2, bytes.Join([][]byte{tagged(1, 2, []byte(apiVersion)), tagged(2, 2, []byte(kind))}, nil))...)
	before, err := wire.Scan(wire.Protobuf, append(bytes.Clone(b), tagged(2, 2, tagged(3, 2, []byte("a")))...))
	if err != nil {
		t.Fatal(err)
	}
	after, err := wire.Scan(wire.Protobuf, append(b, tagged(2, 2, tagged(3, 2, []byte("b")))...))
	if err != nil {
		t.Fatal(err)
	}
	return !wire.Changed(before, after, wire.Path{"status"})
}
