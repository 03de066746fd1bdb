package reconcile

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/workqueue"
)

// Func brings one object a step nearer to what it should be. It is given a key
// and not an object, so that it reads the object now and not as it was when the
// news came. It must be safe to repeat: it is called again after a failure,
// after a crash, and for no reason at all.
//
// ctx ends when the pool's Timeout is over (cause: ErrTimeout) or a shutdown has
// lasted longer than the pool's DrainTimeout. Its logger has the key.
type Func func(ctx context.Context, key types.NamespacedName) (Result, error)

// Result says when the key should run again, if the error is nil; with an error
// it is ignored. The zero Result: when there is news.
type Result struct {
	// Requeue asks for another run soon: after a tenth of a second, twice as long each
	// time in a row, and five seconds at most.
	Requeue bool
	// RequeueAfter asks for another run after this time, unless one comes
	// earlier. A negative one is a moment that has passed before the reconcile
	// returned, and is taken as Requeue: forgetting it would lose the run, and
	// obeying it would spin. It goes before Requeue.
	RequeueAfter time.Duration
}

// Terminal marks an error that trying again will not mend: the spec is wrong,
// not the moment. The key runs again only when there is news. Terminal(nil) is
// nil.
func Terminal(err error) error {
	if err == nil {
		return nil
	}
	return &terminalError{err}
}

// IsTerminal tells whether err, or an error that it wraps, came from Terminal.
func IsTerminal(err error) bool {
	var t *terminalError
	return errors.As(err, &t)
}

type terminalError struct{ err error }

func (e *terminalError) Error() string { return e.err.Error() }
func (e *terminalError) Unwrap() error { return e.err }

// Outcome is what came of one reconcile, and with it what becomes of the key.
type Outcome string

// The outcomes. As values of a metric's label they are controller-runtime's,
// and Failed for good beside them.
const (
	// Succeeded: Result{}, nil. The failures are forgotten.
	Succeeded Outcome = "success"
	// RequeuedAfter: Result{RequeueAfter: d}, nil. The failures are forgotten,
	// and the key runs after d.
	RequeuedAfter Outcome = "requeue_after"
	// Requeued: Result{Requeue: true}, nil. The key runs after a delay that grows from
	// a tenth of a second to five seconds, until a run that asks for nothing.
	Requeued Outcome = "requeue"
	// Failed: an error, a panic, or a timeout. Logged; the key runs after a delay that
	// grows with its failures, as the queue's limiter has it. After a conflict it is
	// Requeued's; after an error of the server's, or for want of a right, it is
	// PoolConfig.TroubleCeiling at most; a key that panics and panics waits longer.
	Failed Outcome = "error"
	// FailedForGood: a Terminal error. Logged; the failures are forgotten and
	// the key is not tried again by itself.
	FailedForGood Outcome = "terminal_error"
)

// outcome is the table of Result semantics.
func outcome(result Result, err error) Outcome {
	switch {
	case IsTerminal(err):
		return FailedForGood
	case err != nil:
		return Failed
	case result.RequeueAfter > 0:
		return RequeuedAfter
	case result.Requeue, result.RequeueAfter < 0:
		return Requeued
	default:
		return Succeeded
	}
}

// Causes says why the reconcile that has this ctx was called. The slice is the
// queue's: read it before the reconcile returns, or copy it.
func Causes(ctx context.Context) []workqueue.Cause {
	causes, _ := ctx.Value(causesKey{}).([]workqueue.Cause)
	return causes
}

type causesKey struct{}
