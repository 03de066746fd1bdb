package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// process is a controller at work.
type process struct {
	cmd     *exec.Cmd
	metrics string // host:port
	debug   string
	client  *http.Client
	ended   chan struct{} // closed when it has
}

// start starts the program with its default flags, but for what a process needs that is
// no pod: it does not know its image, and no Service leads to its webhook. More flags
// come after these.
func (s stage) start(ctx context.Context, part string, more ...string) (*process, error) {
	p := &process{client: &http.Client{Timeout: 30 * time.Second}, ended: make(chan struct{})}
	var err error
	if p.metrics, err = freePort(ctx); err != nil {
		return nil, err
	}
	if p.debug, err = freePort(ctx); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(filepath.Join(s.logs, part+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd = exec.CommandContext(ctx, s.program, append([]string{"--kubeconfig=" + s.kubeconfig, "--entrypoint-image=" + s.image,
		"--bind-address=" + p.metrics, "--debug-bind-address=" + p.debug, "--webhook-bind-address="}, more...)...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// It must not live longer than who measures it.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// end sends a signal, and returns when the process has ended.
func (p *process) end(signal os.Signal) {
	_ = p.cmd.Process.Signal(signal)
	<-p.ended
}

// get is what the process answers.
func (p *process) get(ctx context.Context, host, path string) (body []byte, status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+host+path, nil)
	if err != nil {
		return nil, 0, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(resp.Body)
	return body, resp.StatusCode, err
}

// scrape is its metrics.
func (p *process) scrape(ctx context.Context) (samples, error) {
	body, status, err := p.get(ctx, p.metrics, "/metrics")
	if err != nil {
		return nil, fmt.Errorf("metrics of the controller: %w", err)
	}
	if status != http.StatusOK {
		return nil, fmt.Errorf("metrics of the controller: status %d", status)
	}
	return parseMetrics(body)
}

// ready waits until the caches are full.
func (p *process) ready(ctx context.Context) error {
	return p.until(ctx, "be ready", func() (bool, error) {
		_, status, err := p.get(ctx, p.metrics, "/readyz")
		return err == nil && status == http.StatusOK, nil
	})
}

// until waits for what the process shall come to, for as long as it lives.
func (p *process) until(ctx context.Context, what string, done func() (bool, error)) error {
	return poll(ctx, "the controller to "+what, func() (bool, error) {
		select {
		case <-p.ended:
			return false, fmt.Errorf("it has ended before it could %s: %s", what, p.cmd.ProcessState)
		default:
			return done()
		}
	})
}

func freePort(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
