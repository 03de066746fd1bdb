package main_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/fifo"
	"millrace/handler"
	"millrace/indexer"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/wire"
	"millrace/workqueue"
)

// A resync of ten thousand PipelineRuns that have ended, each with a TaskRun, wakes
// each of them, and decodes none and asks the server for nothing, as that of TaskRuns;
// nor do the TaskRuns, which are told of too, wake anybody.
func TestAResyncOfTenThousandCompletedPipelineRunsWritesNothingAndDecodesNothing(t *testing.T) {
	const runs = 10_000
	synctest.Test(t, func(t *testing.T) {
		pipelineRuns, taskRuns := indexer.New(crds.ResourcePipelineRuns), indexer.New(crds.ResourceTaskRuns)
		runFIFO, childFIFO := fifo.New(pipelineRuns, fifo.Config{}), fifo.New(taskRuns, fifo.Config{})
		facets := pipelinerun.TaskRunFacets()
		queue := workqueue.New(workqueue.Config[types.NamespacedName]{})
		plans, woken := 0, 0
		reconciler := pipelinerun.New(pipelinerun.Config{}, pipelinerun.Parts{
			Caches: pipelinerun.Caches{
				PipelineRun: indexer.Read[crds.PipelineRun](pipelineRuns).Get,
				Head:        indexer.Read[pipelinerun.Head](pipelineRuns).Get,
				Known:       pipelineRuns.Known,
				Children:    []pipelinerun.Children{pipelinerun.TaskRunsOf(taskRuns, facets)},
			},
			Client: nil, // whoever asked the server would panic
			Gate:   reconcile.NewGate(),
			Trace:  pipelinerun.Trace{Planned: func(types.NamespacedName, pipelinerun.Plan) { plans++ }},
		})
		pool := reconcile.NewPool("pipelinerun", queue, func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
			woken++
			return reconciler.Reconcile(ctx, key)
		}, reconcile.PoolConfig{Workers: 1})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 3)
		go func() { ended <- taskRuns.Run(ctx, childFIFO, onChild(facets, queue)) }()
		go func() {
			ended <- pipelineRuns.Run(ctx, runFIFO, handler.Enqueue(crds.ResourcePipelineRuns, queue))
		}()
		synctest.Wait()
		childFIFO.Begin()
		runFIFO.Begin()
		for i := range runs {
			check(t, childFIFO.Item(completedChild(t, facets, i)))
			check(t, runFIFO.Item(completedPipelineRun(t, i)))
		}
		childFIFO.Commit("100000")
		runFIFO.Commit("100000")
		synctest.Wait()
		go func() { ended <- pool.Run(ctx) }()
		synctest.Wait()

		if decodes := pipelineRuns.Stats().Decodes; plans != runs || decodes != runs {
			t.Errorf("%d plans and %d decodes at first, for %d runs", plans, decodes, runs)
		}
		woken = 0
		runFIFO.Resync()
		childFIFO.Resync()
		synctest.Wait()
		if woken != runs {
			t.Errorf("a resync has woken %d runs", woken)
		}
		if decodes := pipelineRuns.Stats().Decodes; plans != runs || decodes != runs {
			t.Errorf("a resync has made %d plans and %d decodes", plans-runs, decodes-runs)
		}
		if n := taskRuns.Stats().Decodes; n != 0 {
			t.Errorf("%d TaskRuns were decoded", n)
		}
		cancel()
		for range 3 {
			if err := <-ended; !errors.Is(err, context.Canceled) {
				check(t, err)
			}
		}
	})
}

// onChild is as run wires it.
func onChild(facets pipelinerun.Facets, queue *workqueue.Queue[types.NamespacedName]) func(indexer.Change) {
	return handler.When(facets.IsNews, handler.EnqueueOwner(crds.ResourceTaskRuns, schema.GroupKind{Group: crds.Group, Kind: crds.KindPipelineRun}, queue, facets.IsNews))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// completedPipelineRun is the i-th, as it was left when it had ended.
func completedPipelineRun(t *testing.T, i int) *wire.Object {
	t.Helper()
	o, err := wire.Scan(wire.JSON, fmt.Appendf(nil, `{"apiVersion":"tekton.dev/v1","kind":"PipelineRun",
		"metadata":{"namespace":"ci","name":"run-%[1]d","uid":"uid-%[1]d","resourceVersion":"%[1]d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},
		"spec":{"pipelineSpec":{"tasks":[{"name":"a","taskSpec":{"steps":[{"image":"busybox","script":"true"}]}}]}},
		"status":{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z",
			"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded","lastTransitionTime":"2026-01-01T00:00:05Z"}],
			"childReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":"run-%[1]d-a","pipelineTaskName":"a"}],
			"pipelineSpec":{"tasks":[{"name":"a","taskSpec":{"steps":[{"image":"busybox","script":"true"}]}}]}}}`, i))
	check(t, err)
	return o
}

// completedChild is its TaskRun.
func completedChild(t *testing.T, facets pipelinerun.Facets, i int) *wire.Object {
	t.Helper()
	o, err := wire.NewScanner(facets.List()...).Scan(wire.JSON, fmt.Appendf(nil, `{"apiVersion":"tekton.dev/v1","kind":"TaskRun",
		"metadata":{"namespace":"ci","name":"run-%[1]d-a","uid":"child-%[1]d","resourceVersion":"%[1]d","labels":{"tekton.dev/pipelineTask":"a"},
			"ownerReferences":[{"apiVersion":"tekton.dev/v1","kind":"PipelineRun","name":"run-%[1]d","uid":"uid-%[1]d","controller":true}]},
		"spec":{"taskSpec":{"steps":[{"image":"busybox","script":"true"}]}},
		"status":{"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}}`, i))
	check(t, err)
	return o
}
