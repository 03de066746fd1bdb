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
	host   string                // its URL
	admit  func(object any) bool // is asked before people create a run
}

// newWorld starts both; they end with ctx.
func newWorld(ctx context.Context) (*world, error) {
	agenda := turnstile.NewAgenda()
	var kubelets *kubelet.Kubelet
	w := &world{admit: func(any) bool { return true }, server: apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) { kubelets.Saw(e) }})}
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
func (w *world) program(ctx context.Context, binary string, args ...string) (<-chan error, error) {
	dir, err := os.MkdirTemp("", "pictures")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}]}`, w.host)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		return nil, err
	}
	args = append(args, "--kubeconfig="+kubeconfig, "--entrypoint-image=registry.example.com/millrace", "--pack-after=8s")
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "GOMEMLIMIT=512000000") // as the Deployment sets it
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
	if _, err := w.server.Actor("people").Create(resource, object); err != nil {
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
