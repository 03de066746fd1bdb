//go:build e2e

package e2efaults

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"millrace/internal/faultproxy"
)

// A replica is a controller's process behind a proxy of its own. Like a kubelet,
// its keeper starts it again when it has ended.
type replica struct {
	name    string
	proxy   *faultproxy.Proxy
	metrics string // host:port
	kubecfg string
	token   string // file
	log     string // file
	command func() *exec.Cmd

	mu    sync.Mutex
	lives []*life
	held  chan struct{} // closed, but between hold and resume
}

// A life is one process of a replica.
type life struct {
	cmd    *exec.Cmd
	began  time.Time
	told   bool          // it was sent a signal that ends it
	dead   chan struct{} // closed when it is
	ended  time.Time
	reason string // how it ended
	code   int    // its exit code; -1 for a signal
}

func (l *life) over() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// keep runs the replica's processes until ctx ends, one after the other.
func (r *replica) keep(ctx context.Context) error {
	for ctx.Err() == nil {
		l, err := r.start()
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { r.signal(syscall.SIGKILL) })
		l.reason = reasonOf(l.cmd.Wait())
		l.code = l.cmd.ProcessState.ExitCode()
		stop()
		r.mu.Lock()
		l.ended = time.Now()
		r.mu.Unlock()
		close(l.dead)
		select {
		case <-ctx.Done():
		case <-time.After(time.Second / 2):
		}
		r.mu.Lock()
		held := r.held
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-held:
		}
	}
	return nil
}

func (r *replica) start() (*life, error) {
	log, err := os.OpenFile(r.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	l := &life{cmd: r.command(), began: time.Now(), dead: make(chan struct{})}
	if l.cmd.Stderr == nil {
		l.cmd.Stderr = log
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	r.lives = append(r.lives, l)
	return l, nil
}

func reasonOf(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// hold has no further process started until resume.
func (r *replica) hold() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = make(chan struct{})
}

func (r *replica) resume() { close(r.held) }

// now is the process that runs, or the last one that did.
func (r *replica) now() *life {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.lives) == 0 {
		return nil
	}
	return r.lives[len(r.lives)-1]
}

// signal sends it to the process that runs now. A kill is waited for.
func (r *replica) signal(s syscall.Signal) {
	l := r.now()
	if l == nil || l.over() {
		return
	}
	r.mu.Lock()
	l.told = l.told || s == syscall.SIGKILL || s == syscall.SIGTERM
	r.mu.Unlock()
	l.cmd.Process.Signal(s) //nolint:errcheck // it may just have ended
	if s == syscall.SIGKILL {
		select {
		case <-l.dead:
		case <-time.After(10 * time.Second): // it is on its way
		}
	}
}

// deaths are the processes that have ended though nobody told them to.
func (r *replica) deaths() (all []*life) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.lives {
		if !l.ended.IsZero() && !l.told {
			all = append(all, l)
		}
	}
	return all
}

func (r *replica) get(ctx context.Context, path string) (int, string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.metrics+path, nil)
	if err != nil {
		return 0, err.Error()
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(text)
}

// newReplica makes one; nothing runs yet.
func newReplica(c *cluster, dir, ns, name string) (*replica, error) {
	r := &replica{
		name: name, kubecfg: filepath.Join(dir, name+".kubeconfig"), token: filepath.Join(dir, name+".token"),
		log: filepath.Join(dir, name+".log"), held: make(chan struct{}),
	}
	r.resume()
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r.proxy, err = faultproxy.New(faultproxy.Config{
		Server: c.server, Transport: c.transport, Listener: front, Actor: name, Signal: r.signal,
	})
	if err != nil {
		return nil, err
	}
	if r.metrics, err = freePort(); err != nil {
		return nil, err
	}
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {tokenFile: %q}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
`, r.proxy.URL(), base64.StdEncoding.EncodeToString(r.proxy.CA()), r.token)
	if err := os.WriteFile(r.kubecfg, []byte(kubeconfig), 0o600); err != nil {
		return nil, err
	}
	r.command = func() *exec.Cmd {
		cmd := exec.Command(c.program,
			"--kubeconfig="+r.kubecfg, "--namespace="+ns, "--managed-by="+ns, "--pod-name="+ns+"-"+name,
			"--entrypoint-image="+c.image, "--bind-address="+r.metrics, "--webhook-bind-address=", "--v=4")
		cmd.Env = []string{} // none of ours
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	return r, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
