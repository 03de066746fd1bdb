package modelcluster

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func started(t *testing.T) *Cluster {
	t.Helper()
	c, err := Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAClientReachesTheServer(t *testing.T) {
	c := started(t)
	if _, err := c.Server.Actor("people").Create("configmaps", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.Host+"/api/v1/namespaces/ci/configmaps/a", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(asked)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var got corev1.ConfigMap
	if err := json.NewDecoder(answer.Body).Decode(&got); err != nil || got.Name != "a" || got.UID == "" {
		t.Errorf("%s: %+v, %v", answer.Status, got, err)
	}
}

// A program is what is run: here a script, which sees where the cluster is, and ends by
// itself, or when it is interrupted.
func TestAProgramThatEndsIsTold(t *testing.T) {
	c := started(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for script, interrupt := range map[string]bool{
		`case "$2" in --kubeconfig=*) grep -q "` + c.Host + `" "${2#--kubeconfig=}" ;; *) exit 1 ;; esac`: false,
		`trap 'kill $!; exit 0' INT; sleep 60 & wait`:                                                     true,
	} {
		program := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(program, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended, err := c.Program(ctx, program, "--pack-after=8s")
		if err != nil {
			t.Fatal(err)
		}
		if interrupt {
			stop()
		}
		if err := <-ended; err != nil && !interrupt {
			t.Errorf("%s: %v", script, err)
		}
		if _, more := <-ended; more {
			t.Error("the end is told twice")
		}
	}
	if _, err := c.Program(t.Context(), filepath.Join(dir, "nothing")); err == nil {
		t.Error("what is not there is started")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
