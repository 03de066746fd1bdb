package reconcile

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/hook"
	"millrace/workqueue"
)

// Trace is what a pool tells whoever watches it. Every field may be nil. The
// funcs are called by the worker that has the key, many at a time, and hold it
// up.
type Trace struct {
	// OnStart: a worker is about to call the Func. OnReconcile follows, always.
	OnStart func(key types.NamespacedName)
	// OnReconcile: the Func has returned, and what becomes of the key has been
	// decided.
	OnReconcile func(Reconciled)
	// OnPanic: the Func has panicked. OnReconcile follows, with a *PanicError.
	OnPanic func(key types.NamespacedName, p *PanicError)
	// OnStaleWait: the caches have not shown the key's own last writes in time,
	// so that it was not reconciled, and is tried later.
	OnStaleWait func(key types.NamespacedName, waited time.Duration, err error)
}

// Then is the Trace of both: each hook of t is called, then that of other. A hook that
// neither has stays nil.
func (t Trace) Then(other Trace) Trace {
	return Trace{
		OnStart:     hook.One(t.OnStart, other.OnStart),
		OnReconcile: hook.One(t.OnReconcile, other.OnReconcile),
		OnPanic:     hook.Two(t.OnPanic, other.OnPanic),
		OnStaleWait: hook.Three(t.OnStaleWait, other.OnStaleWait),
	}
}

// Reconciled is one reconcile that has ended.
type Reconciled struct {
	Key     types.NamespacedName
	Outcome Outcome
	Result  Result
	// Err is nil unless Outcome is Failed or FailedForGood. errors.Is with
	// ErrTimeout and errors.As with *PanicError tell the two kinds apart that
	// the pool makes itself.
	Err error
	// Took is the time in the Func, without what was waited for before.
	Took time.Duration
	// Causes are those of Causes(ctx), and valid as long.
	Causes []workqueue.Cause
}
