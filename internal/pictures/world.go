package main

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/modelcluster"
)

// world is a model cluster, and who works in it.
type world struct {
	*modelcluster.Cluster

	admit func(object any) bool // is asked before people create a run
}

// newWorld starts the cluster; it ends with ctx.
func newWorld(ctx context.Context) (*world, error) {
	cluster, err := modelcluster.Start(ctx)
	return &world{cluster, func(any) bool { return true }}, err
}

// program runs millrace on it; the channel tells when it has ended.
func (w *world) program(ctx context.Context, binary string, args ...string) (<-chan error, error) {
	return w.Program(ctx, binary, append(args, "--entrypoint-image=registry.example.com/millrace", "--pack-after=8s")...)
}

// teams have a namespace each.
func teams() []string { return []string{"ci", "shop", "billing", "search", "mobile"} }

// people create runs in some namespaces until ctx ends.
func (w *world) people(ctx context.Context) {
	teams := teams()
	for _, ns := range teams {
		account := &corev1.ServiceAccount{}
		account.Namespace, account.Name = ns, "default"
		w.create("serviceaccounts", account)
		w.create(crds.ResourcePipelines, pipeline(ns))
	}
	for n := 1; ctx.Err() == nil; n++ {
		ns := teams[n%len(teams)]
		w.ask(crds.ResourceTaskRuns, taskRun(ns, n))
		if n%5 == 0 {
			w.ask(crds.ResourcePipelineRuns, pipelineRun(ns, n))
		}
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// ask has a run created, if it is admitted.
func (w *world) ask(resource string, run any) {
	if w.admit(run) {
		w.create(resource, run)
	}
}

func (w *world) create(resource string, object any) {
	if _, err := w.Server.Actor("people").Create(resource, object); err != nil {
		fmt.Fprintf(os.Stderr, "create %s: %v\n", resource, err)
	}
}

// steps run a script each, in the words of the model kubelets.
func steps(script string, names ...string) *crds.TaskSpec {
	spec := &crds.TaskSpec{}
	for _, name := range names {
		spec.Steps = append(spec.Steps, crds.Step{Name: name, Image: "registry.example.com/go", Script: "#!/bin/sh\n" + script + "\n"})
	}
	return spec
}

// taskRun takes longer or shorter, and fails once in nine.
func taskRun(ns string, n int) *crds.TaskRun {
	script := fmt.Sprintf("sleep=%dms", 150*(n%7))
	if n%9 == 0 {
		script += " exit=1"
	}
	return &crds.TaskRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: crds.KindTaskRun},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("build-%d", n)},
		Spec:       crds.TaskRunSpec{TaskSpec: steps(script, "fetch", "build", "test")},
	}
}

func pipeline(ns string) *crds.Pipeline {
	p := &crds.Pipeline{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: crds.KindPipeline},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "release"},
	}
	for _, name := range []string{"lint", "unit", "image", "deploy"} {
		p.Spec.Tasks = append(p.Spec.Tasks, crds.PipelineTask{Name: name, TaskSpec: &crds.EmbeddedTask{TaskSpec: *steps("sleep=500ms", "fetch", name)}})
	}
	return p
}

func pipelineRun(ns string, n int) *crds.PipelineRun {
	return &crds.PipelineRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: crds.KindPipelineRun},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("release-%d", n)},
		Spec:       crds.PipelineRunSpec{PipelineRef: &crds.PipelineRef{Name: "release"}},
	}
}
