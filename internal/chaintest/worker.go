package chaintest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"millrace/crds"
	"millrace/workqueue"
)

// take has a worker take the next key, and tells what for.
func (w *World) take(ctx context.Context) (name string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	key, causes, err := w.queue.Get(ctx)
	if err != nil {
		return "", err
	}
	because := make([]string, len(causes))
	for i, cause := range causes {
		because[i] = cause.String()
	}
	w.sayf("worker", "gets %s because of %s", key, strings.Join(because, "; "))
	return key.Name, nil
}

// give gives a key back, after a reconcile that came to what the command says.
func (w *World) give(name string, c Command) error {
	key := nameOf(name)
	switch after := c.value("after"); {
	case has(c, "error"):
		w.queue.AddRateLimited(key, workqueue.Cause{Source: "reconcile", Event: "retry"})
	case has(c, "requeue"):
		w.queue.AddRateLimited(key, workqueue.Cause{Source: "reconcile", Event: "requeue"})
	case after != "":
		d, err := time.ParseDuration(after)
		if err != nil {
			return err
		}
		w.queue.Forget(key)
		w.queue.AddAfter(key, d, workqueue.Cause{Source: "reconcile", Event: "requeue-after"})
	default:
		w.queue.Forget(key)
	}
	w.queue.Done(key)
	return nil
}

func (w *World) doWorker(ctx context.Context, c Command) (string, error) {
	switch c.word(0) {
	case "get":
		_, err := w.take(ctx)
		return nobody(err)
	case "done":
		return "", w.give(c.word(1), c)
	default:
		return "", fmt.Errorf("no %q: want get or done", c.word(0))
	}
}

// nobody is what is shown when there was no key to take.
func nobody(err error) (string, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no key is ready\n", nil
	}
	if errors.Is(err, workqueue.ErrShutDown) {
		return "the queue is shut down\n", nil
	}
	return "", err
}

// doReconcile is a worker's turn: it takes a key, waits until the cache has what it
// wrote last, and looks at the object there.
func (w *World) doReconcile(ctx context.Context, c Command) (string, error) {
	name, err := w.take(ctx)
	if err != nil {
		return nobody(err)
	}
	key := nameOf(name)
	waits, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := w.gate.Wait(waits, key); err != nil {
		w.sayf("worker", "waits: the cache has not seen what the last reconcile wrote")
		w.queue.AddAfter(key, time.Second, workqueue.Cause{Source: "reconcile", Event: "stale"})
		w.queue.Done(key)
		return "", nil
	}
	if o, ok := w.chains[crds.ResourceTaskRuns].store.Object(key); ok {
		w.sayf("worker", "finds %s %s @%s in the cache", key, w.uid(o.UID()), o.ResourceVersion())
	} else {
		w.sayf("worker", "finds no %s in the cache", key)
	}
	return "", w.give(name, c)
}

func (w *World) doAdd(_ context.Context, c Command) (string, error) {
	key, cause := nameOf(c.word(0)), workqueue.Cause{Source: "story", Event: "add"}
	after := c.value("after")
	switch {
	case after != "":
		d, err := time.ParseDuration(after)
		if err != nil {
			return "", err
		}
		w.queue.AddAfter(key, d, cause)
	case has(c, "urgent"):
		w.queue.AddUrgent(key, cause)
	default:
		w.queue.Add(key, cause)
	}
	return "", nil
}

// doWrite is a write of a reconcile, which has its answer before the watch has the
// event.
func (w *World) doWrite(_ context.Context, c Command) (string, error) {
	kind, name, _ := strings.Cut(c.word(0), "/")
	r, err := byKind(kind)
	if err != nil {
		return "", err
	}
	of, err := w.chainOf(r.name)
	if err != nil {
		return "", err
	}
	o, err := w.set(r, name, c)
	if err != nil {
		return "", err
	}
	w.gate.Wrote(nameOf(name), of.store, o.GetResourceVersion())
	return "", nil
}

// doDrain shuts the queue down and says when what was ready or at work has been given
// back.
func (w *World) doDrain(ctx context.Context, _ Command) (string, error) {
	w.parts.Go(func() error {
		if err := w.queue.Drain(ctx); err != nil {
			return nil //nolint:nilerr // The story has ended first.
		}
		w.sayf("queue", "is drained")
		return nil
	})
	return "", nil
}
