package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// A fresh install of ours lets those make and read runs whom Tekton's lets: the API server
// adds to view, edit and admin what has the label. Each of our resources is among it, and
// neither a status nor another group's.
func whoMayEditMayEditRuns(t *testing.T, in overlays) {
	t.Helper()
	var resources []string
	for _, crd := range of[apiextensionsv1.CustomResourceDefinition](in["single"]) {
		if crd.Spec.Group == "tekton.dev" {
			resources = append(resources, crd.Spec.Names.Plural)
		}
	}
	read, write := []string{"get", "list", "watch"}, []string{"create", "delete", "deletecollection", "patch", "update"}
	want := map[string][]string{"view": read, "edit": append(read, write...), "admin": append(read, write...)}
	for to, verbs := range want {
		got := map[string][]string{}
		for _, role := range of[rbacv1.ClusterRole](in["single"]) {
			if role.Labels["rbac.authorization.k8s.io/aggregate-to-"+to] != "true" {
				continue
			}
			for _, rule := range role.Rules {
				if !slices.Equal(rule.APIGroups, []string{"tekton.dev"}) || len(rule.ResourceNames)+len(rule.NonResourceURLs) > 0 {
					t.Errorf("%s gives %s more than our resources: %v", role.Name, to, rule)
				}
				for _, resource := range rule.Resources {
					got[resource] = append(got[resource], rule.Verbs...)
				}
			}
		}
		if len(resources) == 0 || len(got) != len(resources) {
			t.Errorf("%s may do something to %d resources, of %v", to, len(got), resources)
		}
		for _, resource := range resources {
			if diff := cmp.Diff(verbs, got[resource], cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
				t.Errorf("what %s may do to %s (-want +got):\n%s", to, resource, diff)
			}
		}
	}
}
