package wire_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"millrace/wire"
)

func path(tb testing.TB, text string) wire.Path {
	tb.Helper()
	p, err := wire.ParsePath(text)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// What is cut out of the bytes is what is missing in the decoded pod.
func TestWhatIsCutOutOfProtobufIsMissingWhenDecoded(t *testing.T) {
	cuts := map[string]func(*corev1.Pod){
		"metadata.managedFields":   func(p *corev1.Pod) { p.ManagedFields = nil },
		lastApplied.String():       func(p *corev1.Pod) { delete(p.Annotations, lastApplied[2]) },
		"metadata.annotations":     func(p *corev1.Pod) { p.Annotations = nil },
		"metadata.labels":          func(p *corev1.Pod) { p.Labels = nil },
		"metadata.finalizers":      func(p *corev1.Pod) { p.Finalizers = nil },
		"metadata.ownerReferences": func(p *corev1.Pod) { p.OwnerReferences = nil },
		"metadata.generation":      func(p *corev1.Pod) { p.Generation = 0 },
		"metadata.managedFields.fieldsV1": func(p *corev1.Pod) {
			for i := range p.ManagedFields {
				p.ManagedFields[i].FieldsV1 = nil
			}
		},
		"metadata":                           func(p *corev1.Pod) { p.ObjectMeta.Reset() },
		"status":                             func(p *corev1.Pod) { p.Status = corev1.PodStatus{} },
		"metadata.something":                 func(*corev1.Pod) {},
		`metadata.labels["there is none"]`:   func(*corev1.Pod) {},
		"metadata.creationTimestamp.seconds": func(*corev1.Pod) {},
	}
	texts := make([]string, 0, len(cuts))
	for text := range cuts {
		texts = append(texts, text)
	}
	slices.Sort(texts)
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 7))
		want := randomPod(r)
		o := scanProtobuf(t, want)
		var paths []wire.Path
		for _, text := range texts {
			if r.IntN(5) == 0 {
				cuts[text](want)
				paths = append(paths, path(t, text))
			}
		}
		got, err := wire.Decode[*corev1.Pod](cut(t, o, paths...))
		if err != nil {
			t.Fatal(err)
		}
		// An empty map has no bytes, so there is none when it is read again.
		wanted, err := wire.Decode[*corev1.Pod](scanProtobuf(t, want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Fatalf("seed %d without %v:\n%s", seed, paths, diff)
		}
	}
}

// A path that cannot be followed is an error, and what Scan has read stays
// known whatever is cut.
func TestAPathThatProtobufDoesNotShowIsAnError(t *testing.T) {
	p := podOf(t, []byte(pod))
	for _, text := range []string{"spec", "spec.containers.env", "kind", "status.phase", "metadata.managedFields.fieldsV1.f:a", "typo"} {
		if _, err := scanProtobuf(t, p).Cut(managedFields, path(t, text)); !errors.Is(err, wire.ErrPath) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := scanProtobuf(t, p).Cut(wire.Path{}); err == nil {
		t.Error("a path without names was taken")
	}
	secret := &corev1.Secret{Type: "tls"} // in field 3
	secret.Kind, secret.APIVersion = "Secret", "v1"
	if _, err := scanProtobuf(t, secret).Cut(path(t, "status")); !errors.Is(err, wire.ErrPath) {
		t.Errorf("status of a secret: %v", err)
	}
	o := cut(t, scanProtobuf(t, p), path(t, "metadata"))
	if v, _ := o.Label("tekton.dev/taskRun"); v != "hello" || len(o.Owners()) != 1 || o.Key().Name != "hello-pod" {
		t.Errorf("what was known is lost: %v", o)
	}
}
