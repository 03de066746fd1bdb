package tracing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/internal/tracing/tracetest"
	"millrace/reconcile"
	"millrace/wire"
	"millrace/workqueue"
)

var (
	build = types.NamespacedName{Namespace: "ci", Name: "build"}
	wide  = types.NamespacedName{Namespace: "ci", Name: "wide"}
)

// A rig is TaskRuns, with a queue and a pool of one worker, and a queue of PipelineRuns
// that nobody takes from, wired as the program is. The test plays the reflectors and the
// reconciler. There is no network between the tracer and the collector: what is still on
// its way when the two seconds of the last word are over would be lost, and they may be
// over at once on a machine that stands still.
type rig struct {
	t         *testing.T
	collector *tracetest.Collector
	tracer    *Tracer
	runs      *indexer.Indexer
	fifo      *fifo.FIFO
	scanner   *wire.Scanner
	ctl       *Controller
	queue     *workqueue.Queue[types.NamespacedName]
	pool      *reconcile.Pool
	server    http.RoundTripper
	version   int

	mu     sync.Mutex
	act    func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error)
	seen   []http.Header // of requests to the API server
	losses map[Loss]int
	ran    chan reconcile.Reconciled
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	r := &rig{t: t, collector: tracetest.New(), losses: map[Loss]int{}, ran: make(chan reconcile.Reconciled, 100), version: 10}
	t.Cleanup(r.collector.Close)
	cfg := Config{Endpoint: r.collector.URL, Transport: r.collector, SamplingRatePerMillion: 1e6, Version: "v1", Pod: "millrace-0", Trace: Trace{
		Dropped: func(why Loss, n int) { r.mu.Lock(); r.losses[why] += n; r.mu.Unlock() },
	}}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if r.tracer, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	r.ctl = r.tracer.Controller("taskrun")
	r.scanner = wire.NewScanner(r.ctl.Facets()...)
	r.runs = indexer.New("taskruns")
	r.fifo = fifo.New(r.runs, fifo.Config{})
	r.ctl.Attach(r.runs)
	r.queue = workqueue.New(workqueue.Config[types.NamespacedName]{Trace: r.ctl.Queue(workqueue.Trace[types.NamespacedName]{})})
	r.pool = reconcile.NewPool("taskrun", r.queue, r.ctl.Func(r.reconcile), reconcile.PoolConfig{
		Workers: 1,
		Trace:   r.ctl.Pool(reconcile.Trace{OnReconcile: func(done reconcile.Reconciled) { r.ran <- done }}),
	})
	r.server = r.tracer.Transport()(serverFunc(func(req *http.Request) (*http.Response, error) {
		r.mu.Lock()
		r.seen = append(r.seen, req.Header)
		r.mu.Unlock()
		return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Body: io.NopCloser(strings.NewReader("")), Request: req}, nil
	}))
	return r
}

type serverFunc func(*http.Request) (*http.Response, error)

func (f serverFunc) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (r *rig) reconcile(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
	r.mu.Lock()
	act := r.act
	r.mu.Unlock()
	if act == nil {
		return reconcile.Result{}, nil
	}
	return act(ctx, key)
}

// does is what reconciles do from now on.
func (r *rig) does(act func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.act = act
}

// while runs the chain while tell does what it likes, and delivers all spans.
func (r *rig) while(tell func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var parts sync.WaitGroup
	parts.Go(func() {
		if err := r.runs.Run(ctx, r.fifo, handler.Enqueue("taskruns", r.queue)); err != nil {
			r.t.Error(err)
		}
	})
	parts.Go(func() {
		if err := r.pool.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			r.t.Error(err)
		}
	})
	r.fifo.Begin()
	r.fifo.Commit("10")
	tell()
	cancel()
	parts.Wait()
	ended, end := context.WithCancel(context.Background())
	end()
	if err := r.tracer.Run(ended); err != nil {
		r.t.Error(err)
	}
}

// run puts a version of a TaskRun into the FIFO, with annotations.
func (r *rig) run(key types.NamespacedName, annotations string) {
	r.t.Helper()
	r.puts(key, `"annotations":{`+annotations+`}`, "")
}

// puts puts a version into the FIFO that has that beside what all have.
func (r *rig) puts(key types.NamespacedName, metadata, status string) {
	r.t.Helper()
	r.version++
	o, err := r.scanner.Scan(wire.JSON, fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":%q,"uid":"uid-of-%s","resourceVersion":"%d","generation":%d,%s},"status":{%s}}`,
		key.Name, key.Namespace, key.Name, r.version, r.version, metadata, status))
	if err == nil {
		err = r.fifo.Update(o)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// next waits for a reconcile to end.
func (r *rig) next() reconcile.Reconciled {
	r.t.Helper()
	select {
	case done := <-r.ran:
		return done
	case <-time.After(time.Minute):
		r.t.Fatal("no reconcile")
		return reconcile.Reconciled{}
	}
}

// asks sends a request to the API server.
func (r *rig) asks(ctx context.Context, method, path string) {
	req, err := http.NewRequestWithContext(ctx, method, "https://server"+path, http.NoBody)
	if err != nil {
		r.t.Error(err)
		return
	}
	resp, err := r.server.RoundTrip(req)
	if err != nil {
		r.t.Error(err)
		return
	}
	if err := resp.Body.Close(); err != nil {
		r.t.Error(err)
	}
}

func (r *rig) draws(want string) {
	r.t.Helper()
	if got := r.collector.Tree(); got != want {
		r.t.Errorf("the collector has\n%swant\n%s", got, want)
	}
}

func (r *rig) only(name string) *tracepb.Span {
	r.t.Helper()
	all := r.collector.Named(name)
	if len(all) != 1 {
		r.t.Fatalf("%d spans %q in\n%s", len(all), name, r.collector.Tree())
	}
	return all[0]
}
