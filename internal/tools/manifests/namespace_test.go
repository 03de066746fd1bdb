package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whoever may make Roles in a namespace can apply it: nothing of it is outside, and what
// may be done to runs there is what may be done everywhere by the other overlays.
func aNamespaceNeedsNoRightBeyondIt(t *testing.T, in overlays) {
	t.Helper()
	for _, each := range in["namespaced"] {
		if object, is := each.(metav1.Object); !is || object.GetNamespace() != "tekton-pipelines" {
			t.Errorf("%T %s is not in the namespace", each, object.GetName())
		}
	}
	want := map[string][]rbacv1.PolicyRule{
		"millrace-controller": named(t, of[rbacv1.ClusterRole](in["single"]), "millrace-controller").Rules,
		"millrace-install":    named(t, of[rbacv1.Role](in["single"]), "millrace-install").Rules,
	}
	got := map[string][]rbacv1.PolicyRule{}
	for _, role := range of[rbacv1.Role](in["namespaced"]) {
		got[role.Name] = role.Rules
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("its Roles are not those of the other overlays (-want +got):\n%s", diff)
	}
	bound := map[string]bool{}
	for _, binding := range of[rbacv1.RoleBinding](in["namespaced"]) {
		if s := binding.Subjects; len(s) == 1 && s[0].Name == "millrace-controller" && binding.RoleRef.Kind == "Role" {
			bound[binding.RoleRef.Name] = true
		}
	}
	for name := range got {
		if !bound[name] {
			t.Errorf("the controller has not the Role %s", name)
		}
	}
	controller := the[appsv1.Deployment](t, in["namespaced"]).Spec.Template.Spec.Containers[0]
	if want := []string{"--leader-elect=true", "--watch-namespace=$(SYSTEM_NAMESPACE)", "--webhook-bind-address="}; !slices.Equal(controller.Args, want) {
		t.Errorf("the controller is told %q, want %q", controller.Args, want)
	}
	if policy := the[networkingv1.NetworkPolicy](t, in["namespaced"]); len(policy.Spec.Ingress) != 1 || len(policy.Spec.Ingress[0].From) == 0 {
		t.Errorf("there are no doors but the metrics: %v", policy.Spec.Ingress)
	}
}

func named[T metav1.Object](t *testing.T, objects []T, name string) (none T) {
	t.Helper()
	for _, object := range objects {
		if object.GetName() == name {
			return object
		}
	}
	t.Fatalf("there is no %T %s", none, name)
	return none
}
