package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// seed writes runs that have ended, and their pods. Their pods are on a node without a
// kubelet, which nobody asks anything.
func seed(ctx context.Context, s stage, n int, where []string) error {
	o, err := newOriginal()
	if err != nil {
		return err
	}
	var done atomic.Int64
	began := time.Now()
	told, stop := context.WithCancel(ctx)
	defer stop()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_ = poll(told, "the end", func() (bool, error) {
			rate := float64(done.Load()) / time.Since(began).Seconds()
			s.progress.at("completed: writing", int(done.Load()), n, fmt.Sprintf("runs and pods, %.0f a second", rate))
			return false, nil
		})
	}()
	err = inParallel(ctx, n, func(ctx context.Context, i int) error {
		defer done.Add(1)
		return s.put(ctx, o, i, where[i%len(where)])
	})
	stop()
	<-over
	if err != nil {
		return err
	}
	s.progress.done("completed: writing", fmt.Sprintf("%s runs and their pods, in %s", thousands(n), time.Since(began).Round(time.Second)))
	return nil
}

// put writes copy i and its pod: each first as it was created, then as it has ended.
func (c *cluster) put(ctx context.Context, o *original, i int, namespace string) error {
	t, err := o.copyOf(i, namespace)
	if err != nil {
		return err
	}
	run := []byte(t.taskRun)
	h, err := create(ctx, c.tekton, "taskruns", namespace, run)
	if err != nil {
		return err
	}
	if run, err = asStored(run, h); err != nil {
		return err
	}
	err = c.tekton.Put().Namespace(namespace).Resource("taskruns").Name(h.Metadata.Name).SubResource("status").Body(run).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("write the status of a TaskRun: %w", err)
	}
	pod := t.podOf(h.Metadata.UID)
	if h, err = create(ctx, c.core, "pods", namespace, pod); err != nil {
		return err
	}
	if pod, err = asStored(pod, h); err != nil {
		return err
	}
	err = c.core.Put().Namespace(namespace).Resource("pods").Name(h.Metadata.Name).SubResource("status").Body(pod).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("write the status of a pod: %w", err)
	}
	return nil
}
