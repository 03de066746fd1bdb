package apiserver_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// Versions share what a write did not touch, and all who ask for one in Go share it,
// too: no later write may show in an earlier version.
func TestAVersionStaysWhatItWasWhateverComesAfterIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := apiserver.New(apiserver.Config{})
		key := types.NamespacedName{Namespace: "default", Name: "a"}
		user := s.Actor("user")
		var versions []*apiserver.Object
		var were []string
		keep := func(o *apiserver.Object, err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			if one, other := apiserver.As[corev1.Pod](o), apiserver.As[corev1.Pod](o); one != other {
				t.Error("two who ask get two pods")
			}
			versions, were = append(versions, o), append(were, inGo(t, o))
		}
		keep(user.Create("pods", pod("a")))
		keep(apiserver.Change(user, "pods", "", key, func(p *corev1.Pod) { p.Spec.Containers[0].Image, p.Labels["of"] = "alpine", "nobody" }))
		keep(apiserver.Change(user, "pods", "status", key, func(p *corev1.Pod) { p.Status.Phase, p.Status.Message = corev1.PodRunning, "runs" }))
		keep(user.Patch("pods", "", key, `{"metadata":{"labels":{"of":null,"is":"new"},"finalizers":["a/b"]}}`))
		keep(user.Delete("pods", key, metav1.DeleteOptions{}))
		keep(apiserver.Change(user, "pods", "", key, func(p *corev1.Pod) { p.Finalizers = nil }))
		if _, there := s.Object("pods", key); there {
			t.Error("the pod has not gone")
		}
		for i, o := range versions {
			if diff := cmp.Diff(were[i], inGo(t, o)); diff != "" {
				t.Errorf("version %d has changed since (-was +is):\n%s", i, diff)
			}
			if !json.Valid(o.JSON()) || o.GetName() != "a" || o.GetUID() != versions[0].GetUID() {
				t.Errorf("version %d is of %s, %s: %s", i, o.GetName(), o.GetUID(), o.JSON())
			}
		}
	})
}

// inGo is all of a version that can be seen: its fields, and the object in Go.
func inGo(t *testing.T, o *apiserver.Object) string {
	t.Helper()
	raw, err := json.MarshalIndent([]any{o.Object, apiserver.As[corev1.Pod](o)}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
