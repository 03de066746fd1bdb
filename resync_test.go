package main_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/reconcile/taskrun"
	"millrace/wire"
	"millrace/workqueue"
)

// A wheel is the chain of TaskRuns as it is wired here, behind the reflector and
// before a server that counts what it is asked.
type wheel struct {
	t       *testing.T
	fifo    *fifo.FIFO
	runs    *indexer.Indexer
	pods    *indexer.Indexer
	asked   counting
	woken   map[string]int // reconciles, by what they were for
	planned int            // of them, those that did not know the run yet
}

// counting is a server that nobody should need: it counts, and refuses.
type counting struct{ requests []string }

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests = append(c.requests, r.Method+" "+r.URL.Path)
	return nil, errors.New("nobody is here")
}

// turn has so many runs that have ended go through a wheel once; then tell does
// with it what it likes.
func turn(t *testing.T, runs int, tell func(w *wheel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wheel{t: t, runs: indexer.New(crds.ResourceTaskRuns), pods: indexer.New("pods"), woken: map[string]int{}}
		w.fifo = fifo.New(w.runs, fifo.Config{})
		queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
		gate := reconcile.NewGate()
		reconciler := taskrun.New(taskrun.Config{EntrypointImage: "entry"}, taskrun.Parts{
			Caches: w.caches(), Client: clientOver(t, &w.asked), Gate: gate,
			Trace: taskrun.Trace{Planned: func(types.NamespacedName, taskrun.Plan) { w.planned++ }},
		})
		pool := reconcile.NewPool("taskrun", queue, func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
			for _, cause := range reconcile.Causes(ctx) {
				w.woken[cause.Event]++
			}
			return reconciler.Reconcile(ctx, key)
		}, reconcile.PoolConfig{Workers: 1, Gate: gate})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- w.runs.Run(ctx, w.fifo, handler.Enqueue(crds.ResourceTaskRuns, queue)) }()
		go func() { ended <- pool.Run(ctx) }()
		w.fifo.Begin()
		for i := range runs {
			w.check(w.fifo.Item(completed(t, i, i+1)))
		}
		w.fifo.Commit("100000")
		synctest.Wait()
		tell(w)
		cancel()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				w.check(err)
			}
		}
	})
}

func (w *wheel) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *wheel) caches() taskrun.Caches {
	return taskrun.Caches{
		TaskRun:  indexer.Read[crds.TaskRun](w.runs).Get,
		Head:     indexer.Read[taskrun.Head](w.runs).Get,
		Known:    w.runs.Known,
		Pod:      indexer.Read[corev1.Pod](w.pods).Get,
		KnownPod: w.pods.Known,
		TaskRuns: w.runs,
		Pods:     w.pods,
	}
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

// completed is the i-th run, as Tekton or we left it when it had ended.
func completed(t *testing.T, i, version int) *wire.Object {
	t.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil, `{"apiVersion":"tekton.dev/v1","kind":"TaskRun",
		"metadata":{"namespace":"ci","name":"run-%[1]d","uid":"uid-%[1]d","resourceVersion":"%[2]d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},
		"spec":{"taskSpec":{"steps":[{"name":"a","image":"busybox","script":"true"}]}},
		"status":{"podName":"run-%[1]d-pod","startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z",
			"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded","lastTransitionTime":"2026-01-01T00:00:05Z"}],
			"steps":[{"name":"a","container":"step-a","terminated":{"exitCode":0,"reason":"Completed","startedAt":"2026-01-01T00:00:01Z","finishedAt":"2026-01-01T00:00:05Z"}}],
			"taskSpec":{"steps":[{"name":"a","image":"busybox","script":"true"}]}}}`, i, version))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The first look at a run that has ended decodes it, once; after that a resync of
// ten thousand of them wakes each, and neither decodes one nor asks the server
// for anything. Only the one that was changed is looked at again.
func TestAResyncOfTenThousandCompletedRunsWritesNothingAndDecodesNothing(t *testing.T) {
	const runs = 10_000
	turn(t, runs, func(w *wheel) {
		first := w.runs.Stats().Decodes
		if w.planned != runs || first != runs {
			t.Fatalf("%d plans and %d decodes at first, for %d runs", w.planned, first, runs)
		}
		w.fifo.Resync()
		synctest.Wait()
		if n := w.woken["resync"]; n != runs {
			t.Errorf("a resync has woken %d runs", n)
		}
		w.costs(first, runs)

		w.check(w.fifo.Update(completed(t, 7, 100_001)))
		synctest.Wait()
		w.costs(first+1, runs+1)
	})
}

// costs is what all has cost so far. Pods of runs that have ended are read too, if
// there are any: there are none.
func (w *wheel) costs(decodes int64, plans int) {
	w.t.Helper()
	if got := w.runs.Stats().Decodes; got != decodes {
		w.t.Errorf("%d runs were decoded, want %d", got, decodes)
	}
	if w.planned != plans {
		w.t.Errorf("%d plans were made, want %d", w.planned, plans)
	}
	if n := w.pods.Stats().Decodes; n != 0 {
		w.t.Errorf("%d pods were decoded", n)
	}
	if len(w.asked.requests) > 0 {
		w.t.Errorf("the server was asked %d times: %s ...", len(w.asked.requests), w.asked.requests[0])
	}
}
