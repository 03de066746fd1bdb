package main

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/internal/simulation/apiserver"
)

// A pod is made, runs, and goes; each stage says so.
func TestThePodsAreToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := apiserver.New(apiserver.Config{})
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 2)
		go func() { over <- server.Run(ctx) }()
		transport := &http.Transport{DialContext: server.Connect("pods").Dial}
		var out shared
		go func() { over <- run(ctx, &rest.Config{Host: "http://apiserver", Transport: transport, QPS: -1}, &out) }()
		synctest.Wait()

		user, key := server.Actor("user"), types.NamespacedName{Namespace: "default", Name: "web"}
		if _, err := user.Create("pods", map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx"}}},
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := user.Patch("pods", "status", key, `{"status": {"phase": "Running"}}`); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if _, err := user.Delete("pods", key, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, want := range []string{
			"watch      watch-listing → watching\n",
			"event      create default/web, ",
			"key        default/web because of pods create →1001\n",
			"queue      default/web: idle → ready\n",
			"reconcile  default/web is Pending [pods create →1001]\n",
			"reconcile  default/web is Running [pods update 1001→1002]\n",
			"reconcile  default/web is gone [",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("nothing said %q", want)
			}
		}
		if t.Failed() {
			t.Log(out.String())
		}
		stop()
		for range 2 {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
		transport.CloseIdleConnections()
	})
}

// shared is a buffer that several goroutines write to.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
