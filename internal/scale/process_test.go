package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func TestMetricsThatAreRefusedAreAnErrorWithTheStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	defer server.Close()
	p := &process{client: server.Client(), metrics: strings.TrimPrefix(server.URL, "http://")}
	if _, err := p.scrape(t.Context()); err == nil || err.Error() != "metrics of the controller: status 503" {
		t.Errorf("%v", err)
	}
	server.Close()
	if _, err := p.scrape(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("from nobody: %v", err)
	}
}

// The second replica gets no token: the first one, which runs by then, is ended.
func TestATeamThatIsNotCompleteIsEnded(t *testing.T) {
	folder := t.TempDir()
	s := stage{options: options{logs: folder, program: filepath.Join(folder, "replica")}}
	runs := func() (bool, error) {
		_, err := os.Stat(s.program + ".runs")
		if errors.Is(err, os.ErrNotExist) {
			return false, nil
		}
		return true, err
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if strings.HasSuffix(r.URL.Path, account(1)+"/token") {
			if err := poll(r.Context(), "the first replica", runs); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = fmt.Fprint(w, `{"status":{"token":"t"}}`) // the client's to notice
	}))
	defer server.Close()
	c, err := clientsOf(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	s.cluster = c
	c.kubeconfig = filepath.Join(folder, "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{}, c.kubeconfig); err != nil {
		t.Fatal(err)
	}
	const waits = "#!/bin/sh\ntrap 'rm -f \"$0.runs\"; exit' TERM\ntouch \"$0.runs\"\nwhile :; do sleep 0.01; done\n"
	if err := os.WriteFile(s.program, []byte(waits), 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := s.startTeam(t.Context(), 2)
	if err == nil || all != nil {
		t.Errorf("a team of %d: %v", len(all), err)
	}
	if yes, err := runs(); yes || err != nil {
		t.Errorf("the first replica runs still: %v, %v", yes, err)
	}
}
