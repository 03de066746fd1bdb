package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// variable holds the spec, in the environment of a child.
const variable = "MILLRACE_BENCH_SERVER"

// Main serves and exits if this process is the child of another that has called
// Start. Call it before all else.
func Main() {
	text, child := os.LookupEnv(variable)
	if !child {
		return
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, "bench server:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// serve runs until standard input ends, as it does with the parent.
func serve(text string) error {
	var spec Spec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		return err
	}
	h, err := newHandler(spec)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = s.Close()
	}()
	scheme := "http"
	if !spec.Plain {
		scheme = "https"
		own, err := certificate()
		if err != nil {
			return fmt.Errorf("make a certificate: %w", err)
		}
		s.TLSConfig = &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS13}
	}
	fmt.Printf("%s://%s\n", scheme, l.Addr())
	if spec.Plain {
		err = s.Serve(l)
	} else {
		err = s.ServeTLS(l, "", "")
	}
	if !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Server is a child process that serves.
type Server struct {
	Spec
	// URL is its address, as rest.Config.Host wants it.
	URL string

	command *exec.Cmd
	stdin   io.Closer
	client  *http.Client
}

// Start starts a child and returns when it has encoded all it has and listens.
// The caller closes it.
func Start(ctx context.Context, spec Spec) (*Server, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append(os.Environ(), variable+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	unchecked := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // It is our child.
	s := &Server{Spec: spec, command: cmd, stdin: stdin, client: &http.Client{Timeout: time.Minute, Transport: unchecked}}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("the server does not say where it listens: %w", err)
	}
	s.URL = strings.TrimSpace(address)
	return s, nil
}

// Begin lets the events happen.
func (s *Server) Begin(ctx context.Context) error {
	_, err := s.ask(ctx, http.MethodPost, "/begin")
	return err
}

// Expire ends every watch as expired.
func (s *Server) Expire(ctx context.Context) error {
	_, err := s.ask(ctx, http.MethodPost, "/expire")
	return err
}

// Count is how often it was asked for what.
func (s *Server) Count(ctx context.Context) (Count, error) {
	var c Count
	raw, err := s.ask(ctx, http.MethodGet, "/count")
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, fmt.Errorf("the server's counts: %w", err)
	}
	return c, nil
}

func (s *Server) ask(ctx context.Context, method, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.URL+path, nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return io.ReadAll(answer.Body)
}

// Close ends the child and waits for it.
func (s *Server) Close() {
	s.client.CloseIdleConnections()
	_ = s.stdin.Close()
	_ = s.command.Wait() // what it says after its end is of no use to anybody
}
