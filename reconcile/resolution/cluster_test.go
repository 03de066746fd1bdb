package resolution_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile/resolution"
)

func params(pairs ...string) crds.ResolverRef {
	ref := crds.ResolverRef{Resolver: resolution.ClusterResolver}
	for i := 0; i < len(pairs); i += 2 {
		ref.Params = append(ref.Params, crds.Param{Name: pairs[i], Value: crds.NewString(pairs[i+1])})
	}
	return ref
}

func TestClusterReferences(t *testing.T) {
	array := params()
	array.Params = crds.Params{{Name: "name", Value: crds.NewArray("x")}}
	for _, c := range []struct {
		ref  crds.ResolverRef
		want string
	}{
		{params("kind", "task", "name", "build", "namespace", "shared"), "shared/build"},
		{params("name", "build"), "own/build"},
		{params("kind", "Task", "name", "build", "unknown", "x"), "own/build"},
		{params("kind", "pipeline", "name", "build"), `cluster resolver: a Task is needed here, and kind is "pipeline"`},
		{params("namespace", "shared"), "missing required cluster resolver params"},
		{params("name", "x", "namespace", ""), "missing required cluster resolver params"},
		{array, `param "name" is no string`},
	} {
		key, err := resolution.Cluster(c.ref, crds.KindTask, "own")
		got := key.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%v: %s, want %s", c.ref.Params, got, c.want)
		}
	}
}

func TestOneNamespaceIsServedAlone(t *testing.T) {
	there := types.NamespacedName{Namespace: "shared", Name: "build"}
	for served, want := range map[string]bool{"": true, "shared": true, "own": false} {
		if err := resolution.Within(served, there); (err == nil) != want {
			t.Errorf("served %q: %v", served, err)
		}
	}
}

func TestSourceNamesOneVersion(t *testing.T) {
	task := &crds.Task{Spec: crds.TaskSpec{Description: "one"}}
	task.Namespace, task.Name, task.UID = "shared", "build", "uid"
	one, err := resolution.Source(crds.KindTask, task, task.Spec)
	if err != nil || one.URI != "/apis/tekton.dev/v1/namespaces/shared/task/build@uid" || len(one.Digest["sha256"]) != 64 {
		t.Fatal(one, err)
	}
	task.Spec.Description = "another"
	if other, err := resolution.Source(crds.KindTask, task, task.Spec); err != nil || other.Digest["sha256"] == one.Digest["sha256"] {
		t.Error(other, err)
	}
}
