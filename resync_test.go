package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/errgroup"

	"millrace/wire"
)

// A wheel is everything as it is wired, behind the reflectors and before a server that
// nobody should need.
type wheel struct {
	*share

	t      *testing.T
	server counting
}

// counting is a server that counts, and refuses.
type counting struct{ asked atomic.Int64 }

func (c *counting) RoundTrip(*http.Request) (*http.Response, error) {
	c.asked.Add(1)
	return nil, errors.New("nobody is here")
}

// turn has the first lists go through a wheel that works already, which fill fills; then
// tell does with it what it likes.
func turn(t *testing.T, fill, tell func(w *wheel)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wheel{t: t}
		w.share = wired(t, &w.server)
		ctx, cancel := context.WithCancel(t.Context())
		parts, ctx := errgroup.WithContext(ctx)
		parts.Go(func() error { return w.work(ctx) })
		synctest.Wait() // from here on handlers enqueue
		for _, c := range w.chains() {
			parts.Go(func() error { return c.Run(ctx, c.fifo, c.handlers...) })
			c.fifo.Begin()
		}
		fill(w)
		for _, c := range w.chains() {
			c.fifo.Commit("100000")
		}
		synctest.Wait()
		tell(w)
		cancel()
		if err := parts.Wait(); !errors.Is(err, context.Canceled) {
			w.check(err)
		}
	})
}

func (w *wheel) check(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// woken is for how many events of a kind the workers of a controller have been woken.
func (w *wheel) woken(controller, cause string) int {
	w.t.Helper()
	row := regexp.MustCompile(fmt.Sprintf(`(?m)^reconcile_trigger_total{cause="%s",controller="%s"} (\d+)$`, cause, controller))
	found := row.FindStringSubmatch(scraped(w.program.registry))
	if found == nil {
		return 0
	}
	n, err := strconv.Atoi(found[1])
	w.check(err)
	return n
}

// costs is what all has cost so far: who makes a plan decodes the run, and pods of runs
// that have ended are read too, if there are any; there are none.
func (w *wheel) costs(taskRuns, pipelineRuns int64) {
	w.t.Helper()
	for _, c := range []struct {
		chain
		want int64
	}{{w.taskRuns, taskRuns}, {w.pipelineRuns, pipelineRuns}, {w.pods, 0}} {
		if got := c.Stats().Decodes; got != c.want {
			w.t.Errorf("of %s %d were decoded, want %d", c.Name(), got, c.want)
		}
	}
	if n := w.server.asked.Load(); n > 0 {
		w.t.Errorf("the server was asked %d times", n)
	}
}

// taskRun is the i-th, as Tekton or we left it when it had ended; of the i-th PipelineRun,
// or of nobody.
func (w *wheel) taskRun(i, version int, owned bool) *wire.Object {
	w.t.Helper()
	owners := ""
	if owned {
		owners = fmt.Sprintf(`{"apiVersion":"tekton.dev/v1","kind":"PipelineRun","name":"run-%[1]d","uid":"uid-%[1]d","controller":true}`, i)
	}
	o, err := wire.NewScanner(w.ofTask.List()...).Scan(wire.JSON, fmt.Appendf(nil, `{"apiVersion":"tekton.dev/v1","kind":"TaskRun",
		"metadata":{"namespace":"ci","name":"run-%[1]d-a","uid":"child-%[1]d","resourceVersion":"%[2]d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z",
			"labels":{"tekton.dev/pipelineTask":"a"},"ownerReferences":[%[3]s]},
		"spec":{"taskSpec":{"steps":[{"name":"a","image":"busybox","script":"true"}]}},
		"status":{"podName":"run-%[1]d-a-pod","startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z",
			"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded","lastTransitionTime":"2026-01-01T00:00:05Z"}],
			"steps":[{"name":"a","container":"step-a","terminated":{"exitCode":0,"reason":"Completed","startedAt":"2026-01-01T00:00:01Z","finishedAt":"2026-01-01T00:00:05Z"}}],
			"taskSpec":{"steps":[{"name":"a","image":"busybox","script":"true"}]}}}`, i, version, owners))
	w.check(err)
	return o
}

// pipelineRun is the i-th, as it was left when it had ended.
func (w *wheel) pipelineRun(i int) *wire.Object {
	w.t.Helper()
	o, err := wire.NewScanner(w.ofPipeline.List()...).Scan(wire.JSON, fmt.Appendf(nil, `{"apiVersion":"tekton.dev/v1","kind":"PipelineRun",
		"metadata":{"namespace":"ci","name":"run-%[1]d","uid":"uid-%[1]d","resourceVersion":"%[1]d","generation":1,"creationTimestamp":"2026-01-01T00:00:00Z"},
		"spec":{"pipelineSpec":{"tasks":[{"name":"a","taskSpec":{"steps":[{"image":"busybox","script":"true"}]}}]}},
		"status":{"startTime":"2026-01-01T00:00:00Z","completionTime":"2026-01-01T00:00:05Z",
			"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded","lastTransitionTime":"2026-01-01T00:00:05Z"}],
			"childReferences":[{"apiVersion":"tekton.dev/v1","kind":"TaskRun","name":"run-%[1]d-a","pipelineTaskName":"a"}],
			"pipelineSpec":{"tasks":[{"name":"a","taskSpec":{"steps":[{"image":"busybox","script":"true"}]}}]}}}`, i))
	w.check(err)
	return o
}

// The first look at a run that has ended decodes it, once; after that a resync of
// ten thousand of them wakes each, and neither decodes one nor asks the server
// for anything. Only the one that was changed is looked at again.
func TestAResyncOfTenThousandCompletedRunsWritesNothingAndDecodesNothing(t *testing.T) {
	const runs = 10_000
	turn(t, func(w *wheel) {
		for i := range runs {
			w.check(w.taskRuns.fifo.Item(w.taskRun(i, i+1, false)))
		}
	}, func(w *wheel) {
		w.costs(runs, 0)
		w.taskRuns.fifo.Resync()
		synctest.Wait()
		if n := w.woken("taskrun", "taskruns resync"); n != runs {
			t.Errorf("a resync has woken %d runs", n)
		}
		w.costs(runs, 0)

		w.check(w.taskRuns.fifo.Update(w.taskRun(7, 100_001, false)))
		synctest.Wait()
		w.costs(runs+1, 0)
	})
}

// A resync of ten thousand PipelineRuns that have ended, each with a TaskRun, wakes
// each of them, and decodes none and asks the server for nothing, as that of TaskRuns;
// nor do the TaskRuns, which are told of too, wake a PipelineRun.
func TestAResyncOfTenThousandCompletedPipelineRunsWritesNothingAndDecodesNothing(t *testing.T) {
	const runs = 10_000
	turn(t, func(w *wheel) {
		for i := range runs {
			w.check(w.taskRuns.fifo.Item(w.taskRun(i, i+1, true)))
			w.check(w.pipelineRuns.fifo.Item(w.pipelineRun(i)))
		}
	}, func(w *wheel) {
		w.costs(runs, runs)
		byChildren := w.woken("pipelinerun", "taskruns create")
		w.pipelineRuns.fifo.Resync()
		w.taskRuns.fifo.Resync()
		synctest.Wait()
		if n := w.woken("pipelinerun", "pipelineruns resync"); n != runs {
			t.Errorf("a resync has woken %d runs", n)
		}
		if n := w.woken("pipelinerun", "taskruns resync") + w.woken("pipelinerun", "taskruns create") - byChildren; n > 0 {
			t.Errorf("their children have woken %d runs", n)
		}
		w.costs(runs, runs)
	})
}
