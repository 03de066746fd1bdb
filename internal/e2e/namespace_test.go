//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"millrace/internal/audit"
)

// oneOnly is whose runs are those of the second install.
const oneOnly = "e2e.millrace.dev/one-namespace"

// installs applies the overlay for one namespace, as docs/operating.md says, with the image
// that the cluster has already, for runs of its own.
func (s space) installs() {
	s.t.Helper()
	image := s.kubectl("-n", "tekton-pipelines", "get", "deployment", "millrace-controller", "-o", "jsonpath={.spec.template.spec.containers[0].image}")
	dir, err := filepath.EvalSymlinks(s.t.TempDir())
	if err != nil {
		s.t.Fatal(err)
	}
	overlay, err := filepath.Abs("../../manifests/overlays/namespaced")
	if err == nil {
		overlay, err = filepath.Rel(dir, overlay)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	text := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [%s]
namespace: %s
patches:
- target: {kind: Deployment}
  patch: |
    - {op: replace, path: /spec/template/spec/containers/0/image, value: %q}
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: --managed-by=%s}
`, overlay, s.ns, image, oneOnly)
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
	s.kubectl("apply", "-k", dir, "--validate=strict", "--warnings-as-errors")
	s.rolledOut(s.ns)
}

// hears follows what a user asks of the server; what it returns ends that, and is the
// requests that the user was refused, or that were for more than one namespace.
func hears(t *testing.T, user, namespace string) (tooMuch func() []audit.Request) {
	t.Helper()
	log := os.Getenv("AUDIT_LOG")
	if log == "" {
		t.Fatal("AUDIT_LOG is not set: it names the audit log of the API server")
	}
	tail, err := audit.FromNow(log)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var heard []audit.Request
	asked := 0
	ended := make(chan error, 1)
	go func() {
		ended <- tail.Follow(ctx, func(r audit.Request) {
			if r.User != user {
				return
			}
			asked++
			if r.Code == 403 || r.Namespace != namespace {
				heard = append(heard, r)
			}
		})
	}()
	return func() []audit.Request {
		stop()
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
		if asked < 20 {
			t.Errorf("%s has asked for %d things: was it heard?", user, asked)
		}
		return heard
	}
}

// An install for one namespace runs what is in it, leaves others alone, and asks the server
// for nothing that a Role there does not grant.
func TestOneNamespaceIsServedByARoleInIt(t *testing.T) {
	s := newSpace(t)
	other := space{t, s.ns + "-not"}
	s.kubectl("create", "namespace", other.ns)
	t.Cleanup(func() { s.kubectl("delete", "namespace", other.ns, "--wait=false") })
	tooMuch := hears(t, "system:serviceaccount:"+s.ns+":millrace-controller", s.ns)
	s.installs()

	const task = `{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: one}, spec: {steps: [{name: s, image: busybox, script: "true"}]}}`
	const runs = `
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: ours}
spec: {managedBy: ` + oneOnly + `, taskRef: {name: one}}
---
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: pipe}
spec: {managedBy: ` + oneOnly + `, pipelineSpec: {tasks: [{name: a, taskRef: {name: one}}]}}
`
	for _, in := range []space{other, s} {
		in.create(task)
		in.create(runs)
	}
	s.untilReason("ours", "Succeeded")
	s.untilPipelineRun("pipe", "Succeeded")
	s.create(`
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: reaches-out}
spec:
  managedBy: ` + oneOnly + `
  taskRef: {resolver: cluster, params: [{name: kind, value: task}, {name: name, value: one}, {name: namespace, value: ` + other.ns + `}]}
`)
	s.untilReason("reaches-out", "TaskRunResolutionFailed")

	if left := other.get("ours"); len(left.Status.Conditions) > 0 || len(other.pipelineRun("pipe").Status.Conditions) > 0 || other.must("get", "pods", "-o", "name") != "" {
		t.Errorf("runs of another namespace were worked on: %s", left)
	}
	for _, r := range tooMuch() {
		t.Errorf("%s %s of namespace %q, answered with %d", r.Verb, r.Resource, r.Namespace, r.Code)
	}
}
