package reconcile

import (
	"context"
	"fmt"
	"time"

	"k8s.io/klog/v2"
)

// Source is something that has to be complete before the first reconcile: with
// half of the pods in the cache, the other half look deleted.
type Source struct {
	// Name is what errors call it: "pods".
	Name string
	// Synced is closed when the initial list is in the cache, and its keys are
	// in the queue.
	Synced <-chan struct{}
	// LastError says what the source is struggling with, nil if with nothing.
	// It may be nil. A wait that ends in vain ends with this error: a missing
	// RBAC rule should not look like a slow server.
	LastError func() error
}

// syncReminder is how often a wait that does not end says so: rarely enough
// to be read.
const syncReminder = 30 * time.Second

func (s Source) wait(ctx context.Context) error {
	remind := time.NewTicker(syncReminder)
	defer remind.Stop()
	for {
		select {
		case <-s.Synced:
			return nil
		case <-ctx.Done():
			return s.inVain(context.Cause(ctx))
		case <-remind.C:
			klog.FromContext(ctx).Info("Still waiting for the first list", "source", s.Name, "err", s.lastError())
		}
	}
}

func (s Source) inVain(cause error) error {
	if last := s.lastError(); last != nil {
		return fmt.Errorf("wait for the first list of %s: %w (its last error: %w)", s.Name, cause, last)
	}
	return fmt.Errorf("wait for the first list of %s: %w", s.Name, cause)
}

func (s Source) lastError() error {
	if s.LastError == nil {
		return nil
	}
	return s.LastError()
}
