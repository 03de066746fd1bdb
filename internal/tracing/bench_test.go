package tracing

import (
	"context"
	"errors"
	"testing"
	"time"

	"millrace/fifo"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/wire"
	"millrace/workqueue"
)

// What a key's way through queue and pool costs, with tracing off, on for a run that is not
// sampled, and on for one that is: then four spans and a link are made, of an event, the
// queue, the reconcile, and one request. Nothing is delivered.
func BenchmarkAKey(b *testing.B) {
	for name, tracer := range map[string]*Tracer{"off": nil, "unsampled": unheard(b, 0), "sampled": unheard(b, 1e6)} {
		b.Run(name, func(b *testing.B) {
			ctl := tracer.Controller("taskrun")
			ctl.Attach(oneRun(b, ctl))
			q := workqueue.New(workqueue.Config[key]{Trace: ctl.Queue(workqueue.Trace[key]{})})
			fn := ctl.Func(func(ctx context.Context, _ key) (result, error) {
				if tracer != nil {
					_, span := tracer.spans.Start(ctx, "PATCH taskruns/status")
					span.End()
				}
				return result{}, nil
			})
			ran := make(chan struct{})
			pool := reconcile.NewPool("taskrun", q, fn, reconcile.PoolConfig{
				Workers: 1,
				Trace:   ctl.Pool(reconcile.Trace{OnReconcile: func(reconcile.Reconciled) { ran <- struct{}{} }}),
			})
			ctx, cancel := context.WithCancel(b.Context())
			ended := make(chan error)
			go func() { ended <- pool.Run(ctx) }()
			cause := workqueue.Cause{Source: "pods", Event: "update", Name: "build-pod", OldRV: "1234", NewRV: "1235"}
			b.ReportAllocs()
			for b.Loop() {
				cause.First = time.Now()
				q.Add(build, cause)
				<-ran
			}
			cancel()
			if err := <-ended; err != nil {
				b.Error(err)
			}
		})
	}
}

// oneRun is a cache with the run.
func oneRun(b *testing.B, ctl *Controller) *indexer.Indexer {
	b.Helper()
	runs := indexer.New("taskruns")
	f := fifo.New(runs, fifo.Config{})
	o, err := wire.NewScanner(ctl.Facets()...).Scan(wire.JSON, []byte(`{"metadata":{"name":"build","namespace":"ci","uid":"57ad0e9e-3c79-4f39-9d9c-0c94f8ad6f1d","resourceVersion":"9"}}`))
	if err == nil {
		f.Begin()
		err = f.Item(o)
		f.Commit("10")
		f.Close()
	}
	if err = errors.Join(err, runs.Run(b.Context(), f)); err != nil {
		b.Fatal(err)
	}
	return runs
}

// unheard is a Tracer whose spans go nowhere.
func unheard(b *testing.B, rate int) *Tracer {
	b.Helper()
	t, err := New(Config{Endpoint: "http://127.0.0.1:1", SamplingRatePerMillion: rate})
	if err != nil {
		b.Fatal(err)
	}
	return t
}
