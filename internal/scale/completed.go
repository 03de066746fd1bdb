package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// amongCompleted measures what a cluster costs that is full of runs that have ended: a
// start, the memory once all is quiet, and how soon a new run starts after a crash and
// after a stop.
func amongCompleted(ctx context.Context, s stage, n int) (numbers, error) {
	where := spread("completed")
	if err := prepare(ctx, s, n, where); err != nil {
		return nil, err
	}
	m := numbers{}
	p, err := s.start(ctx, "completed")
	if err != nil {
		return nil, err
	}
	defer func() { p.end(syscall.SIGTERM) }()
	if err := s.settle(ctx, p, n, m); err != nil {
		return nil, err
	}
	if err := s.rest(ctx, p, m); err != nil {
		return nil, err
	}
	for _, c := range []change{
		{"after-crash", "completed: after a kill -9", "crash", syscall.SIGKILL, false},
		{"after-stop", "completed: after a stop", "stop", syscall.SIGTERM, false},
		{"standby-crash", "completed: a kill -9, beside a standby", "crash", syscall.SIGKILL, true},
		{"standby-stop", "completed: a stop, beside a standby", "stop", syscall.SIGTERM, true},
	} {
		var took time.Duration
		if p, took, err = s.again(ctx, p, c, where[0]); err != nil {
			return nil, err
		}
		m[c.id] = took.Seconds()
		s.progress.done(c.step, fmt.Sprintf("a new run has its pod after %.1f s", m[c.id]))
		if err := s.looked(ctx, p, n); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// prepare brings the cluster to n completed runs with their pods. What a former try has
// left is taken, if it is all.
func prepare(ctx context.Context, s stage, n int, where []string) error {
	if err := s.namespaces(ctx, where); err != nil {
		return err
	}
	found, err := counts(ctx, s.tekton, "taskruns", where)
	if err != nil {
		return err
	}
	if found["True"] < n {
		if len(found) > 0 {
			if err := s.clear(ctx, where); err != nil {
				return err
			}
		}
		if err := seed(ctx, s, n, where); err != nil {
			return err
		}
	}
	pods := 0
	for _, namespace := range where {
		if err := each(ctx, s.core, "pods", namespace, func(h head) {
			if h.Status.Phase == "Succeeded" {
				pods++
			}
		}); err != nil {
			return err
		}
	}
	if found, err = counts(ctx, s.tekton, "taskruns", where); err != nil {
		return err
	}
	if found["True"] < n || len(found) != 1 || pods < n {
		return fmt.Errorf("%d runs were to be there with their pods: there are %d pods, and of runs, by the status of Succeeded, %v", n, pods, found)
	}
	return nil
}

// settle measures a start: until the caches are full, and until each run has been
// looked at.
func (s stage) settle(ctx context.Context, p *process, n int, m numbers) error {
	began := time.Now()
	if err := p.ready(ctx); err != nil {
		return err
	}
	m["start-ready"] = time.Since(began).Seconds()
	if err := s.looked(ctx, p, n); err != nil {
		return err
	}
	m["start-steady"] = time.Since(began).Seconds()
	r, err := p.reading(ctx)
	if err != nil {
		return err
	}
	m["cpu"], m["rss-peak"] = r.cpu.Seconds(), r.peak
	s.progress.done("completed: start", fmt.Sprintf("ready after %.1f s, quiet after %.1f s, %.0f MiB at most", m["start-ready"], m["start-steady"], r.peak/(1<<20)))
	return s.keepHeap(ctx, p, "start")
}

// looked waits until each of n runs has been reconciled, and no key waits.
func (s stage) looked(ctx context.Context, p *process, n int) error {
	return p.until(ctx, "look at each run", func() (bool, error) {
		all, err := p.scrape(ctx)
		if err != nil {
			return false, err
		}
		done := int(all.sum("controller_runtime_reconcile_total", "controller", "taskrun"))
		s.progress.at("completed: looking at each run", min(done, n), n, "reconciles")
		return done >= n && all.sum("workqueue_depth") == 0, nil
	})
}

// rest waits until the caches are packed and the memory that this freed has gone back,
// and measures what is left.
func (s stage) rest(ctx context.Context, p *process, m numbers) error {
	began := time.Now()
	least, since, scraped := 0.0, time.Now(), time.Time{}
	packed, plain := 0, 0
	err := p.until(ctx, "come to rest", func() (bool, error) {
		if time.Since(scraped) > seldom { // who asks all the time keeps nothing at rest
			all, err := p.scrape(ctx)
			if err != nil {
				return false, err
			}
			packed, plain = tiers(all)
			scraped = time.Now()
		}
		now, err := p.memory()
		if err != nil {
			return false, err
		}
		if least == 0 || now.now < least-1<<20 {
			least, since = now.now, time.Now()
		}
		s.progress.at("completed: coming to rest", packed, packed+plain, fmt.Sprintf("objects packed, %.0f MiB", now.now/(1<<20)))
		m["rss-rest"] = now.now
		return plain < packed/100 && time.Since(since) > quiet, nil
	})
	if err != nil {
		return err
	}
	m["rest-after"] = time.Since(began).Seconds()
	s.progress.done("completed: at rest", fmt.Sprintf("%.0f MiB, after %.0f s", m["rss-rest"]/(1<<20), m["rest-after"]))
	return s.keepHeap(ctx, p, "rest")
}

// quiet is how long the memory of a process at rest has not become a MiB less: longer
// than the pause between two sweeps of the packer.
const quiet = 70 * time.Second

// tiers is how many TaskRuns and pods are packed, and how many are not.
func tiers(all samples) (packed, plain int) {
	for _, resource := range []string{"taskruns", "pods"} {
		packed += int(all.sum("informer_store_objects", "resource", resource, "tier", "packed"))
		plain += int(all.sum("informer_store_objects", "resource", resource, "tier", "plain"))
	}
	return packed, plain
}

// change is how one process comes after another: when that has ended, as in the overlay
// single, or with full caches beside it, as in ha.
type change struct {
	id, step, run string
	signal        syscall.Signal
	standby       bool
}

// again ends a process, asks for a new run, and returns the next process when the run has
// a pod, and how long after the end that is.
func (s stage) again(ctx context.Context, p *process, c change, namespace string) (next *process, took time.Duration, err error) {
	if c.standby {
		if next, err = s.start(ctx, "completed"); err != nil {
			return p, 0, err
		}
		if err := next.ready(ctx); err != nil {
			return p, 0, err
		}
	}
	began := time.Now()
	p.end(c.signal)
	w := workload{name: fmt.Sprintf("%s-%d", c.run, began.Unix()), runs: 1, taskRuns: 1}
	body, err := w.bodies()
	if err != nil {
		return p, 0, err
	}
	h, err := create(ctx, s.tekton, "taskruns", namespace, body(0))
	if err != nil {
		return p, 0, err
	}
	if next == nil {
		if next, err = s.start(ctx, "completed"); err != nil {
			return p, 0, err
		}
	}
	err = s.hasPod(ctx, next, namespace, h.Metadata.Name)
	return next, time.Since(began), err
}

// hasPod waits until a process has made the pod of a run.
func (s stage) hasPod(ctx context.Context, p *process, namespace, run string) error {
	return p.until(ctx, "make the pod of a new run", func() (bool, error) {
		answer, err := s.core.Get().Namespace(namespace).Resource("pods").Param("labelSelector", "tekton.dev/taskRun="+run).Do(ctx).Raw()
		if err != nil {
			return false, err
		}
		var list struct {
			Items []head `json:"items"`
		}
		err = json.Unmarshal(answer, &list)
		return len(list.Items) > 0, err
	})
}

// keepHeap leaves a profile of the heap beside the log, for whoever asks what it is
// that takes the memory.
func (s stage) keepHeap(ctx context.Context, p *process, when string) error {
	profile, status, err := p.get(ctx, p.debug, "/debug/pprof/heap")
	if err != nil || status != 200 {
		return errors.Join(fmt.Errorf("profile of the heap: status %d", status), err)
	}
	return os.WriteFile(filepath.Join(s.logs, "heap-"+when+".pb.gz"), profile, 0o644)
}
