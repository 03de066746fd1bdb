package main_test

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/internal/metrics"
	"millrace/reconcile"
	"millrace/reconcile/taskrun"
	"millrace/reflector"
	"millrace/wire"
	"millrace/workqueue"
)

const canary = "canary-7d21"

// A gossip is a server that has the canary in whatever it says.
type gossip struct{ asked []string }

func (g *gossip) RoundTrip(r *http.Request) (*http.Response, error) {
	g.asked = append(g.asked, r.Method+" "+r.URL.Path)
	code, body := http.StatusOK, `{"kind":"TaskRun","apiVersion":"tekton.dev/v1","metadata":{"name":"run","namespace":"ci","uid":"u","resourceVersion":"5"}}`
	switch {
	case strings.Contains(r.URL.Path, "/secrets/"):
		body = `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"git","annotations":{"tekton.dev/git-0":"https://` + canary + `.example"}},"type":"kubernetes.io/basic-auth","data":{"password":"` + base64.StdEncoding.EncodeToString([]byte(canary)) + `"}}`
	case r.Method == http.MethodPost:
		code, body = http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"admission webhook \"`+canary+`\" denied the request: `+canary+`","code":403}`
	}
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// The metrics of the whole chain of a run, in which everything has the canary in it
// that a user, a secret or the server can put there, tell nothing of it.
func TestMetricsTellNoSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := metrics.New()
		seen := registry.Chain(crds.ResourceTaskRuns)
		runs, pods := indexer.New(crds.ResourceTaskRuns), indexer.New("pods")
		runFIFO := fifo.New(runs, fifo.Config{Trace: seen.FIFO})
		seen.Watch(reflector.New(nil, crds.ResourceTaskRuns, runFIFO, reflector.Config{Trace: seen.Source}), runFIFO, runs)
		seen.Source.Failed(reflector.Failure{Err: errors.New(canary)})
		queueTrace, watchQueue := metrics.Queue[types.NamespacedName](registry, "taskrun")
		queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "taskrun", Trace: queueTrace})
		watchQueue(queue)
		server := &gossip{}
		gate := reconcile.NewGate()
		reconciler := taskrun.New(taskrun.Config{EntrypointImage: "entry", Mode: taskrun.ModeImageVolume}, taskrun.Parts{
			Caches: taskrun.Caches{
				TaskRun:     indexer.Read[crds.TaskRun](runs).Get,
				Head:        indexer.Read[taskrun.Head](runs).Get,
				Known:       runs.Known,
				Pod:         indexer.Read[corev1.Pod](pods).Get,
				KnownPod:    pods.Known,
				LimitRanges: func(string) ([]corev1.LimitRange, error) { return nil, nil },
				ServiceAccount: func(types.NamespacedName) (corev1.ServiceAccount, bool, error) {
					return corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Secrets: []corev1.ObjectReference{{Name: "git"}}}, true, nil
				},
				TaskRuns: runs,
				Pods:     pods,
			},
			Client: clientOver(t, registry.Transport()(server)), Gate: gate, Trace: registry.TaskRuns(),
		})
		pool := reconcile.NewPool("taskrun", queue, reconciler.Reconcile, reconcile.PoolConfig{Workers: 1, Gate: gate, Trace: registry.Pool("taskrun", 1)})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- runs.Run(ctx, runFIFO, handler.Enqueue(crds.ResourceTaskRuns, queue)) }()
		go func() { ended <- pool.Run(ctx) }()
		o, err := wire.Scan(wire.JSON, []byte(`{"metadata":{"namespace":"ci","name":"run","uid":"u","resourceVersion":"5","labels":{"l":"`+canary+`"},"annotations":{"a":"`+canary+`"}},
			"spec":{"params":[{"name":"p","value":"`+canary+`"}],"taskSpec":{"steps":[{"name":"a","image":"busybox","script":"echo $(params.p)"}]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		runFIFO.Begin()
		if err := runFIFO.Item(o); err != nil {
			t.Fatal(err)
		}
		runFIFO.Commit("5")
		time.Sleep(time.Minute) // it is tried again
		synctest.Wait()

		scraped := httptest.NewRecorder()
		registry.Handler().ServeHTTP(scraped, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if text := scraped.Body.String(); !strings.Contains(text, "controller_runtime_reconcile_total") || strings.Contains(text, canary) {
			t.Errorf("metrics:\n%s", text)
		}
		if asked := strings.Join(server.asked, ", "); !strings.Contains(asked, "/secrets/git") || !strings.Contains(asked, "POST /api/v1/namespaces/ci/pods") {
			t.Errorf("the server was asked only: %s", asked)
		}
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) && err != nil {
				t.Error(err)
			}
		}
	})
}

// clientOver is the reconciler's client, with that in the place of a network.
func clientOver(t *testing.T, server http.RoundTripper) taskrun.Client {
	t.Helper()
	rc := &rest.Config{Host: "http://server.example", QPS: -1, Transport: server}
	core, err := typedcorev1.NewForConfig(rc)
	if err != nil {
		t.Fatal(err)
	}
	rc.APIPath, rc.GroupVersion = "/apis", &schema.GroupVersion{Group: crds.Group, Version: crds.Version}
	rc.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	tekton, err := rest.RESTClientFor(rc)
	if err != nil {
		t.Fatal(err)
	}
	return taskrun.NewAPIClient(tekton, core)
}
