// Package modelcluster is a model cluster in real time, at a real address: what a program
// can be run against where there is no cluster, for pictures of it and for recordings.
//
//	millrace, a process ──HTTP on loopback──▶ model server ◀──▶ model kubelets
//	                                              ▲
//	                   who runs it ──Server.Actor─┘
//
// The models are those of the simulation, which say what they leave out
// (millrace/internal/simulation/apiserver, …/kubelet).
//
// What it promises:
//
//  1. Any client reaches the server at Host, until the context of Start ends.
//     (TestAClientReachesTheServer)
//  2. Program's channel tells once how the program has ended, and is closed then; of the
//     program nothing is left behind. (TestAProgramThatEndsIsTold)
//
// Goroutines: those of the models and one for each connection, which end with Start's
// context; one for each program, which ends with it.
package modelcluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/kubelet"
	"millrace/internal/simulation/turnstile"
)

// A Cluster is a model server that listens on a real port, and the kubelets behind it.
type Cluster struct {
	Server *apiserver.Server
	Host   string // its URL
}

// Start starts both; they end with ctx.
func Start(ctx context.Context) (*Cluster, error) {
	agenda := turnstile.NewAgenda()
	var kubelets *kubelet.Kubelet
	c := &Cluster{Server: apiserver.New(apiserver.Config{Seen: func(e apiserver.Exchange) { kubelets.Saw(e) }})}
	kubelets = kubelet.New(kubelet.Config{Server: c.Server, Agenda: agenda, Seed: 7})
	go agenda.Run(ctx)
	go c.Server.Run(ctx) //nolint:errcheck // it ends with ctx
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c.Host = "http://" + listener.Addr().String()
	context.AfterFunc(ctx, func() { listener.Close() }) //nolint:errcheck // nobody else closes it
	go c.accept(ctx, listener)
	return c, nil
}

// accept joins each connection from outside to one of the model's network.
func (c *Cluster) accept(ctx context.Context, listener net.Listener) {
	link := c.Server.Connect("outside")
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

// Program runs a controller on that server, with --kubeconfig behind its arguments. It is
// interrupted when ctx ends; the channel tells how it has ended.
func (c *Cluster) Program(ctx context.Context, binary string, args ...string) (<-chan error, error) {
	dir, err := os.MkdirTemp("", "modelcluster")
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}}]}`, c.Host)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		os.RemoveAll(dir) //nolint:errcheck // a directory of temporary files
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, append(args, "--kubeconfig="+kubeconfig)...)
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
