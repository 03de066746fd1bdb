package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Their number is said in three places, and no server complains if one is forgotten: a
// replica that may not hold the last shard's Lease stands by for ever.
func replicasThatShareHaveAShardEach(t *testing.T, in overlays) {
	t.Helper()
	haveAShardEach(t, in["sharded"], 4)
}

func haveAShardEach(t *testing.T, objects []runtime.Object, n int) {
	t.Helper()
	deployment := the[appsv1.Deployment](t, objects)
	if got := int(*deployment.Spec.Replicas); got != n {
		t.Errorf("there are %d replicas: want %d", got, n)
	}
	env := deployment.Spec.Template.Spec.Containers[0].Env
	if at := slices.IndexFunc(env, func(e corev1.EnvVar) bool { return e.Name == "SHARDS" }); at < 0 || env[at].Value != strconv.Itoa(n) {
		t.Errorf("%d replicas have other shards, or none: %v", n, env)
	}
	want := make([]string, n)
	for i := range want {
		want[i] = fmt.Sprintf("millrace-shard-%d", i)
	}
	role := named(t, of[rbacv1.Role](objects), "millrace-sharding")
	if !slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Equal(r.ResourceNames, want) }) {
		t.Errorf("no rule is for %v: %v", want, role.Rules)
	}
	if strategy := deployment.Spec.Strategy.RollingUpdate; strategy.MaxUnavailable.IntValue() != 0 || strategy.MaxSurge.IntValue() != 1 {
		t.Errorf("an update takes more than one replica at a time: %v", strategy)
	}
}

// What docs/operating.md says is written for another number does what it says there.
func TestAsManyReplicasShareAsAKustomizationSays(t *testing.T) {
	block := ""
	for part := range strings.SplitSeq(page(t), "\n\n") {
		if strings.Contains(part, "count: 6") {
			block = strings.ReplaceAll("\n"+part, "\n    ", "\n")
		}
	}
	overlay, err := filepath.Abs(filepath.Join(tree, "overlays", "sharded"))
	if err != nil {
		t.Fatal(err)
	}
	mine, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Rel(mine, overlay)
	if err != nil {
		t.Fatal(err)
	}
	block = strings.Replace(block, "../millrace/manifests/overlays/sharded", path, 1)
	if err := os.WriteFile(filepath.Join(mine, "kustomization.yaml"), []byte(block), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := build(mine)
	if err != nil {
		t.Fatalf("%v:\n%s", err, block)
	}
	haveAShardEach(t, decoded(t, mine, out), 6)
}
