package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// load measures a process from when it is ready to when the last run has ended.
func load(ctx context.Context, s stage, w workload) (n numbers, err error) {
	if err := s.namespaces(ctx, w.namespaces()); err != nil {
		return nil, err
	}
	p, err := s.start(ctx, w.name)
	if err != nil {
		return nil, err
	}
	defer p.end(syscall.SIGTERM)
	if err := p.ready(ctx); err != nil {
		return nil, err
	}
	before, err := p.reading(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := w.play(ctx, s, p); err != nil {
		return nil, err
	}
	took := time.Since(began)
	after, err := p.reading(ctx)
	if err != nil {
		return nil, err
	}
	if err := w.verify(ctx, s.tekton); err != nil {
		return nil, err
	}
	n = difference(w, before, after, took)
	s.progress.done(w.name, fmt.Sprintf("all %s succeeded, in %s", thousands(w.taskRuns), took.Round(time.Second)))
	return n, s.clear(ctx, w.namespaces())
}

// A reading is what a process is measured by, at one moment.
type reading struct {
	memory

	cpu     time.Duration
	metrics samples
}

func (p *process) reading(ctx context.Context) (r reading, err error) {
	if r.memory, err = p.memory(); err != nil {
		return r, err
	}
	if r.cpu, err = p.cpu(); err != nil {
		return r, err
	}
	r.metrics, err = p.scrape(ctx)
	return r, err
}

// play asks for the runs, and returns when all of them have ended.
func (w workload) play(ctx context.Context, s stage, p *process) error {
	var asked atomic.Int64
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() error { return w.ask(ctx, s.tekton, &asked) })
	both.Go(func() error {
		began, news, last := time.Now(), time.Now(), 0
		return p.until(ctx, "end all runs", func() (bool, error) {
			all, err := p.scrape(ctx)
			if err != nil {
				return false, err
			}
			ended := int(all.sum("tekton_pipelines_controller_taskrun_total"))
			if ended > last {
				news, last = time.Now(), ended
			}
			if time.Since(news) > stalled {
				return false, fmt.Errorf("no run has ended for %s: %d were asked for, %d TaskRuns of %d have ended", stalled, asked.Load(), ended, w.taskRuns)
			}
			s.progress.at(w.name, ended, w.taskRuns, fmt.Sprintf("TaskRuns, %.1f a second, %s asked for",
				float64(ended)/time.Since(began).Seconds(), thousands(int(asked.Load()))))
			over := ended >= w.taskRuns
			if w.pipelines {
				over = over && int(all.sum("tekton_pipelines_controller_pipelinerun_total")) >= w.runs
			}
			return over, nil
		})
	})
	return both.Wait()
}

// difference is what the runs have cost.
func difference(w workload, before, after reading, took time.Duration) numbers {
	n := numbers{
		"rate":     float64(w.taskRuns) / took.Seconds(),
		"cpu":      (after.cpu - before.cpu).Seconds(),
		"cpu-each": (after.cpu - before.cpu).Seconds() * 1000 / float64(w.taskRuns),
		"rss-peak": after.peak,
	}
	sent := after.metrics.by("rest_client_requests_total", "method")
	for method, before := range before.metrics.by("rest_client_requests_total", "method") {
		sent[method] -= before
	}
	all := 0.0
	for method, count := range sent {
		n["requests-"+strings.ToLower(method)] = count
		all += count
	}
	n["requests-each"] = all / float64(w.taskRuns)
	const waited = "workqueue_queue_duration_seconds"
	n["wait-p50"], n["wait-p99"] = after.metrics.within(0.5, waited, "name", "taskrun"), after.metrics.within(0.99, waited, "name", "taskrun")
	if w.pipelines {
		n["pipelines-wait-p50"], n["pipelines-wait-p99"] = after.metrics.within(0.5, waited, "name", "pipelinerun"), after.metrics.within(0.99, waited, "name", "pipelinerun")
	}
	return n
}
