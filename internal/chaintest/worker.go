package chaintest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

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
	case has(c, "no-forget"):
	default:
		w.queue.Forget(key)
	}
	w.queue.Done(key)
	return nil
}

// giveBack is give, and tells what becomes of the key.
func (w *World) giveBack(name string, c Command) error {
	key := nameOf(name)
	before := w.queue.Explain(key).State
	if err := w.give(name, c); err != nil {
		return err
	}
	w.settle()
	if now := w.queue.Explain(key).State; now != before {
		w.sayf("queue", "%s: %s → %s", key, before, now)
	}
	return nil
}

func (w *World) doWorker(ctx context.Context, c Command) (string, error) {
	switch c.word(0) {
	case "get":
		_, err := w.take(ctx)
		return nobody(err)
	case "done":
		return "", w.giveBack(c.word(1), c)
	default:
		return "", fmt.Errorf("no %q: want get or done", c.word(0))
	}
}

// nobody is what is shown when there was no key to take.
func nobody(err error) (string, error) {
	if errors.Is(err, context.DeadlineExceeded) {
		return "worker    gets nothing: no key is ready\n", nil
	}
	if errors.Is(err, workqueue.ErrShutDown) {
		return "worker    gets nothing: the queue is shut down\n", nil
	}
	return "", err
}

// doReconcile is a worker's turn: it takes a key, waits until the cache has what it
// wrote last (no-gate: as those do who have no gate), and looks at the object there.
func (w *World) doReconcile(ctx context.Context, c Command) (string, error) {
	name, err := w.take(ctx)
	if err != nil {
		return nobody(err)
	}
	key := nameOf(name)
	if !has(c, "no-gate") && w.isStale(ctx, key) {
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

// isStale asks the gate whether the caches have what the key's last reconcile wrote.
func (w *World) isStale(ctx context.Context, key types.NamespacedName) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return w.gate.Wait(ctx, key) != nil
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
		w.sayf("program", "may go: the queue is drained")
		return nil
	})
	return "", nil
}
