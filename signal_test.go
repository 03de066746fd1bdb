package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A dam is a model of an API server, to which a pod is never made: who asks waits until it
// is opened.
type dam struct {
	http.Handler

	reached, opened chan struct{}
	over            <-chan struct{} // the test
	once            sync.Once
}

func (d *dam) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/pods") {
		d.once.Do(func() { close(d.reached) })
		select {
		case <-d.opened:
		case <-d.over:
			return
		}
	}
	d.Handler.ServeHTTP(w, r)
}

// newDam has a TaskRun.
func newDam(t *testing.T) *dam {
	t.Helper()
	server := apiserver.New(apiserver.Config{})
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build"}}
	run.Spec.TaskSpec = &crds.TaskSpec{Steps: []crds.Step{{Name: "s", Image: "busybox", Script: "true"}}}
	if _, err := server.Actor("user").Create(crds.ResourceTaskRuns, run); err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Run(t.Context()) }) // it ends with the test
	t.Cleanup(serving.Wait)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "apiserver" },
		Transport:     &http.Transport{DialContext: server.Connect("millrace").Dial},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // that it ends is no news
	}
	return &dam{Handler: proxy, reached: make(chan struct{}), opened: make(chan struct{}), over: t.Context().Done()}
}

// becomes waits until the probe answers with that code, unless who answers has ended.
func becomes(t *testing.T, probe string, code int, ended <-chan struct{}) {
	t.Helper()
	every := time.NewTicker(10 * time.Millisecond)
	defer every.Stop()
	for {
		select {
		case <-every.C:
		case <-ended:
			t.Fatalf("it has ended, and not answered with %d", code)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, probe, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			if t.Context().Err() != nil {
				t.Fatal(err)
			}
			continue // it does not listen yet
		}
		response.Body.Close() //nolint:errcheck // nothing of it is read
		if response.StatusCode == code {
			return
		}
	}
}

// The test is its own child: only a process can be ended by a signal. A reconcile is in
// hand when the first one comes, and the server does not answer it.
func TestASecondSignalEndsItAtOnce(t *testing.T) {
	const child = "MILLRACE_TEST_FLAGS_OF_WHO_IS_TOLD"
	if flags := os.Getenv(child); flags != "" {
		os.Exit(execute(context.Background(), strings.Split(flags, " "), func(string) string { return "" }, os.Stdout, os.Stderr))
	}
	for name, c := range map[string]struct {
		first, second syscall.Signal // 0: the server answers then
		want          int
		deaf          bool // nobody reads its log
	}{
		"SIGTERM twice": {syscall.SIGTERM, syscall.SIGTERM, 143, false},
		"SIGTERM twice, and nobody reads its log": {syscall.SIGTERM, syscall.SIGTERM, 143, true},
		"Ctrl-C twice": {syscall.SIGINT, syscall.SIGINT, 130, false},
		"SIGTERM once": {syscall.SIGTERM, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDam(t)
			address := reserved(t)
			flags := "--kubeconfig=" + kubeconfigOf(t, d) + " --bind-address=" + address + " --webhook-bind-address= --debug-bind-address=" +
				" --entrypoint-image=registry.example.com/millrace --leader-elect=false --drain-timeout=1h"
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestASecondSignalEndsItAtOnce$")
			cmd.Env = append(os.Environ(), child+"="+flags)
			var said strings.Builder
			cmd.Stderr = &said
			unread, log, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer unread.Close()
			defer log.Close()
			if c.deaf {
				cmd.Stderr = log
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				cmd.Wait() //nolint:errcheck // its exit code says it
			}()
			defer func() {
				cmd.Process.Kill() //nolint:errcheck // of a test that has failed; else it has ended
				<-ended
				if t.Failed() {
					t.Log(said.String())
				}
			}()
			becomes(t, "http://"+address+"/readyz", http.StatusOK, ended)
			select {
			case <-d.reached:
			case <-ended:
				t.Fatal("it has ended, and made no pod")
			}
			if c.deaf {
				fill(t, log)
			}
			tell(t, cmd, c.first)
			becomes(t, "http://"+address+"/readyz", http.StatusServiceUnavailable, ended) // it drains
			if c.second == 0 {
				close(d.opened)
			} else {
				tell(t, cmd, c.second)
			}
			<-ended
			if code := cmd.ProcessState.ExitCode(); code != c.want {
				t.Errorf("it exits with %d (%s), want %d", code, cmd.ProcessState, c.want)
			}
		})
	}
}

// reserved is an address for a child to listen at. It is bound as long as the test lasts,
// and listened at by nobody else: so the kernel gives it to no one who asks for any port,
// and still to who asks for this one.
func reserved(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) }) //nolint:errcheck // nothing was sent
	if err := syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	bound, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("127.0.0.1:", bound.(*syscall.SockaddrInet4).Port)
}

// fill has a pipe take nothing any more, so that whoever writes waits.
func fill(t *testing.T, pipe *os.File) {
	t.Helper()
	path := fmt.Sprintf("/proc/self/fd/%d", pipe.Fd()) // opened anew: who does not wait is this one alone
	end, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = syscall.Write(end, []byte{0})
	}
	if err := syscall.Close(end); err != nil {
		t.Error(err)
	}
}

func tell(t *testing.T, cmd *exec.Cmd, s syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
}
