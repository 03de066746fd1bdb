package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/kubelet"
	"millrace/internal/simulation/turnstile"
)

// world is a model server that listens on a real port, and the kubelets behind it.
type world struct {
	server *apiserver.Server
	host   string // its URL
}

// newWorld starts both; they end with ctx.
func newWorld(ctx context.Context) (*world, error) {
	agenda := turnstile.NewAgenda()
	var kubelets *kubelet.Kubelet
	w := &world{server: apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) { kubelets.Saw(e) }})}
	kubelets = kubelet.New(kubelet.Config{Server: w.server, Agenda: agenda, Seed: 7})
	go agenda.Run(ctx)
	go w.server.Run(ctx) //nolint:errcheck // it ends with ctx
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w.host = "http://" + listener.Addr().String()
	context.AfterFunc(ctx, func() { listener.Close() }) //nolint:errcheck // nobody else closes it
	go w.accept(ctx, listener)
	return w, nil
}

// accept joins each connection from outside to one of the model's network.
func (w *world) accept(ctx context.Context, listener net.Listener) {
	link := w.server.Connect("millrace")
	for {
		near, err := listener.Accept()
		if err != nil {
			return
		}
		far, err := link.Dial(ctx, "", "")
		if err != nil {
			near.Close() //nolint:errcheck // nobody is there
			continue
		}
		go forward(near, far)
		go forward(far, near)
	}
}

// forward ends both sides when one has ended.
func forward(to, from net.Conn) {
	io.Copy(to, from) //nolint:errcheck // the end is what matters
	to.Close()        //nolint:errcheck // it may be closed already
	from.Close()      //nolint:errcheck // it may be closed already
}

// program runs millrace on that server; the channel tells when it has ended.
func (w *world) program(ctx context.Context, binary, debug string) (<-chan error, error) {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}]}`, w.host)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, "--kubeconfig="+kubeconfig, "--bind-address=127.0.0.1:0", "--webhook-bind-address=", "--debug-bind-address="+debug,
		"--entrypoint-image=registry.example.com/millrace", "--leader-elect=false", "--pack-after=8s")
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir) //nolint:errcheck // a directory of temporary files
		return nil, fmt.Errorf("start the program: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		os.RemoveAll(dir) //nolint:errcheck // a directory of temporary files
		ended <- err
		close(ended)
	}()
	return ended, nil
}

// people create runs in some namespaces until ctx ends.
func (w *world) people(ctx context.Context) {
	teams := []string{"ci", "shop", "billing", "search", "mobile"}
	for _, ns := range teams {
		account := &corev1.ServiceAccount{}
		account.Namespace, account.Name = ns, "default"
		w.create("serviceaccounts", account)
		w.create(crds.ResourcePipelines, pipeline(ns))
	}
	for n := 1; ctx.Err() == nil; n++ {
		ns := teams[n%len(teams)]
		w.create(crds.ResourceTaskRuns, taskRun(ns, fmt.Sprintf("build-%d", n)))
		if n%5 == 0 {
			w.create(crds.ResourcePipelineRuns, pipelineRun(ns, fmt.Sprintf("release-%d", n)))
		}
		select {
		case <-time.After(400 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (w *world) create(resource string, object any) {
	if _, err := w.server.Actor("people").Create(resource, object); err != nil {
		fmt.Fprintf(os.Stderr, "create %s: %v\n", resource, err)
	}
}

func steps(names ...string) *crds.TaskSpec {
	spec := &crds.TaskSpec{}
	for _, name := range names {
		spec.Steps = append(spec.Steps, crds.Step{Name: name, Image: "registry.example.com/go", Script: "#!/bin/sh\nexit 0\n"})
	}
	return spec
}

func taskRun(ns, name string) *crds.TaskRun {
	return &crds.TaskRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: crds.KindTaskRun},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       crds.TaskRunSpec{TaskSpec: steps("fetch", "build", "test")},
	}
}

func pipeline(ns string) *crds.Pipeline {
	p := &crds.Pipeline{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: crds.KindPipeline},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "release"},
	}
	for _, name := range []string{"lint", "unit", "image", "deploy"} {
		p.Spec.Tasks = append(p.Spec.Tasks, crds.PipelineTask{Name: name, TaskSpec: &crds.EmbeddedTask{TaskSpec: *steps("fetch", name)}})
	}
	return p
}

func pipelineRun(ns, name string) *crds.PipelineRun {
	return &crds.PipelineRun{
		TypeMeta:   metav1.TypeMeta{APIVersion: "tekton.dev/v1", Kind: crds.KindPipelineRun},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       crds.PipelineRunSpec{PipelineRef: &crds.PipelineRef{Name: "release"}},
	}
}
