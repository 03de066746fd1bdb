package metrics

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/internal/tracing"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/reflector"
	"millrace/shard"
	"millrace/webhook"
	"millrace/wire"
	"millrace/workqueue"
)

var update = flag.Bool("update", false, "write golden files anew")

// A wired registry has the metrics of a program with one chain, one queue and
// one pool, in which each has happened once.
func wired(t *testing.T) *Registry {
	t.Helper()
	r := New()
	key := types.NamespacedName{Namespace: "ci", Name: "build"}

	trace, watchQueue := Queue[types.NamespacedName](r, "taskrun")
	queue := workqueue.New(workqueue.Config[types.NamespacedName]{Name: "taskrun", Trace: trace})
	watchQueue(queue)
	queue.Add(key, workqueue.Cause{Source: "pods", Event: "update"})

	seen := r.Chain("pods")
	pods := indexer.New("pods")
	podFIFO := fifo.New(pods, fifo.Config{Trace: seen.FIFO})
	seen.Watch(watched(t), podFIFO, pods)
	seen.Source.Event("ADDED")
	seen.Source.Listed(reflector.List{Cause: reflector.CauseStart})
	seen.Source.Failed(reflector.Failure{In: reflector.Watching, Err: errors.New("refused")})
	fill(t, podFIFO, pods)

	pool := r.Pool("taskrun", 16)
	pool.OnStart(key)
	pool.OnReconcile(reconcile.Reconciled{Key: key, Outcome: reconcile.Succeeded, Took: time.Millisecond,
		Causes: []workqueue.Cause{{Source: "pods", Event: "update", Count: 3}}})

	r.Alarms("taskrun", reconcile.NewPool("taskrun", queue, nil, reconcile.PoolConfig{}))

	r.RunningTaskRuns(func() int { return 3 })
	runs := r.TaskRuns()
	runs.Done(taskrun.Done{Status: "True", Duration: time.Second})
	runs.FellBack(key, "no image volumes")
	r.RunningPipelineRuns(func() int { return 2 })
	pipelines := r.PipelineRuns()
	pipelines.Done(pipelinerun.Done{Status: "False", Reason: "Cancelled", Duration: time.Second})
	runs.Done(taskrun.Done{Status: "True", Duration: time.Second, PipelineRun: "release"})
	r.Leader("millrace-controller")(true)
	sharing := r.Sharding()
	sharing.Looked(4, 2)
	sharing.Began(shard.Range{To: 1 << 62})
	hook := r.Webhook()
	hook.Answered(webhook.PathValidate, http.StatusOK, time.Millisecond)
	hook.HandshakeFailed()
	r.Certificate(func() time.Time { return time.Unix(1764500000, 0) })
	r.Settings()("config-defaults", "default-timeout-minutes", true)
	spans := r.Tracing()
	spans.Delivered(512)
	spans.Dropped(tracing.Full, 3)

	next := roundTripper(func(*http.Request) (*http.Response, error) { return &http.Response{StatusCode: http.StatusOK}, nil })
	request := httptest.NewRequest(http.MethodGet, "https://server/api/v1/pods", nil)
	if _, err := r.Transport()(next).RoundTrip(request); err != nil { //nolint:bodyclose // there is none
		t.Fatal(err)
	}
	return r
}

// watched is a reflector that has heard its server once, in a watch.
func watched(t *testing.T) *reflector.Reflector {
	t.Helper()
	const events = `{"type":"BOOKMARK","object":{"apiVersion":"v1","kind":"Pod","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}
{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ci","uid":"u","resourceVersion":"8"}}}
`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, events) //nolint:errcheck // who asked has gone
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	client, err := rest.UnversionedRESTClientFor(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{
		GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: serializer.NewCodecFactory(runtime.NewScheme()).WithoutConversion()}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	store := indexer.New("pods")
	source := reflector.New(client, "pods", fifo.New(store, fifo.Config{}), reflector.Config{
		Trace: reflector.Trace{Event: func(wire.EventType) { cancel() }},
	})
	if err := source.Run(ctx); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if source.Status().LastEvent.IsZero() {
		t.Fatal("the server was not heard in a minute")
	}
	return source
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fill puts one pod through the FIFO into the store.
func fill(t *testing.T, f *fifo.FIFO, x *indexer.Indexer) {
	t.Helper()
	pod, err := wire.Scan(wire.JSON, []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ci","uid":"u","resourceVersion":"7"}}`))
	if err != nil {
		t.Fatal(err)
	}
	f.Begin()
	if err := f.Item(pod); err != nil {
		t.Fatal(err)
	}
	f.Commit("7")
	f.Close()
	if err := x.Run(context.Background(), f); err != nil {
		t.Fatal(err)
	}
}

func scrape(t *testing.T, r *Registry) []string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	var lines []string
	for s := bufio.NewScanner(w.Body); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// The names are a contract with dashboards and alerts.
func TestTheNamesAndLabelsAreThoseInTheGoldenFile(t *testing.T) {
	var series []string
	for _, line := range scrape(t, wired(t)) {
		name, _, _ := strings.Cut(line, " ")
		own := !strings.HasPrefix(name, "#") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !strings.HasPrefix(name, "promhttp_")
		if own && !strings.Contains(name, "_bucket{") {
			series = append(series, line[:strings.LastIndex(line, " ")])
		}
	}
	slices.Sort(series)
	got := strings.Join(series, "\n") + "\n"
	golden := filepath.Join("testdata", "series.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("series differ from %s (go test -update writes it):\n%s", golden, got)
	}
}

func TestEachMetricIsReadOffItsStage(t *testing.T) {
	lines := scrape(t, wired(t))
	for _, want := range []string{
		`workqueue_depth{name="taskrun"} 1`,
		`workqueue_adds_total{name="taskrun"} 1`,
		`informer_store_objects{resource="pods",tier="plain"} 1`,
		`informer_store_resource_version{resource="pods"} 7`,
		`informer_processing_latency_seconds_count{resource="pods"} 1`,
		`controller_runtime_active_workers{controller="taskrun"} 0`,
		`controller_runtime_reconcile_total{controller="taskrun",result="success"} 1`,
		`controller_runtime_webhook_requests_total{code="200",webhook="/validate"} 1`,
		`webhook_tls_handshake_errors_total 1`,
		`webhook_certificate_expiry_timestamp_seconds 1.7645e+09`,
		`reconcile_trigger_total{cause="pods update",controller="taskrun"} 3`,
		`reconcile_hot_loop_keys{controller="taskrun"} 0`,
		`tekton_pipelines_controller_taskrun_total{status="success"} 2`,
		`leader_election_master_status{name="millrace-controller"} 1`,
		`rest_client_requests_total{code="200",host="server",method="GET"} 1`,
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("missing: %s", want)
		}
	}
}

func TestPrometheusOwnLinterHasNothingToSay(t *testing.T) {
	problems, err := testutil.GatherAndLint(wired(t).registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestAResourceVersionKeepsWhatAFloatHolds(t *testing.T) {
	for version, want := range map[string]float64{"": -1, "7": 7, "123456789012345678": 456789012345678, "x": -1} {
		got, ok := digits(version)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("digits(%q) = %v, want %v", version, got, want)
		}
	}
}

// What is made anew while the program goes on begins at zero; the rest stays.
func TestAPartTakesTheLastOnesPlace(t *testing.T) {
	r := New()
	r.Chain("secrets")
	for range 2 {
		part := r.Part()
		part.Chain("pods").Foreign()
		got := served(t, r)
		for _, want := range []string{`informer_foreign_objects_total{resource="pods"} 1`, `informer_foreign_objects_total{resource="secrets"} 0`} {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("%s is missing", want)
			}
		}
	}
	r.Part()
	if got := served(t, r); strings.Contains(got, "pods") || !strings.Contains(got, "secrets") {
		t.Errorf("without a part, or with an empty one:\n%s", got)
	}
}

func served(t *testing.T, r *Registry) string {
	t.Helper()
	w := httptest.NewRecorder()
	r.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}
