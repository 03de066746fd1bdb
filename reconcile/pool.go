package reconcile

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"millrace/workqueue"
)

// ErrTimeout is the cause of the ctx of a reconcile that took longer than the
// pool's Timeout, and is in the error that it then returned.
var ErrTimeout = errors.New("reconcile timed out")

// errDraining is the cause of the ctx of a reconcile that a shutdown interrupts.
var errDraining = errors.New("the pool has been told to stop, and its drain timeout is over")

// PoolConfig of a Pool. Its zero value works.
type PoolConfig struct {
	// Workers is how many keys are reconciled at once. Default: 8, since a
	// reconcile spends its time waiting for the API server, not computing.
	Workers int
	// Timeout of one reconcile. Default: 3 minutes: its few API calls find their
	// time even where each takes half a minute. With one minute a server with such
	// a latency was asked for ever and never got to do anything: a reconcile that
	// is cut begins with asking what is there. A call without an answer is given
	// up by its client, and earlier. Negative: none. It ends the Func's ctx; a Func
	// that does not look at its ctx cannot be stopped.
	Timeout time.Duration
	// DrainTimeout is how long reconciles in hand may go on after Run's ctx has
	// ended; then their ctx ends too. Default: 25 s, what is left of the 30 s
	// that Kubernetes gives a pod to stop. Negative: none.
	DrainTimeout time.Duration
	// Sources that have to be synced before the first reconcile.
	Sources []Source
	// Gate that each reconcile has to pass. Default: none.
	Gate *Gate
	// GateTimeout bounds the wait at the Gate. Default: 10 s, while a watch
	// that is well shows a write after some milliseconds.
	GateTimeout time.Duration
	// Trouble tells errors of the server's from the key's, and the pause that
	// the server asks for. Default: ServerTrouble.
	Trouble func(error) (retryAfter time.Duration, trouble bool)
	// TroubleCeiling is the longest backoff after the server's errors and after
	// waits at the Gate in vain. Default: 30 s: who has failed through a long
	// outage should not sleep for a quarter of an hour after its end.
	TroubleCeiling time.Duration
	// ReleaseGap is the pace at which keys that back off because of the server
	// are let go when it is well again: one in each gap, at most. Default: 4 ms,
	// so that 500 keys are back after two seconds.
	ReleaseGap time.Duration
	// Trace gets the pool's news. Default: nobody.
	Trace Trace
}

func (c PoolConfig) withDefaults() PoolConfig {
	if c.Workers <= 0 {
		c.Workers = 8
	}
	if c.Timeout == 0 {
		c.Timeout = 3 * time.Minute
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 25 * time.Second
	}
	if c.Gate == nil {
		c.Gate = NewGate()
	}
	if c.GateTimeout <= 0 {
		c.GateTimeout = 10 * time.Second
	}
	if c.Trouble == nil {
		c.Trouble = ServerTrouble
	}
	if c.TroubleCeiling <= 0 {
		c.TroubleCeiling = 30 * time.Second
	}
	if c.ReleaseGap <= 0 {
		c.ReleaseGap = 4 * time.Millisecond
	}
	return c
}

// Pool is the workers of one queue.
type Pool struct {
	name  string
	queue *workqueue.Queue[types.NamespacedName]
	fn    Func
	cfg   PoolConfig
	loops loops
}

// NewPool makes a pool, and starts nothing. Its name is in logs ("controller")
// and errors. Nobody else should take keys from the queue.
func NewPool(name string, q *workqueue.Queue[types.NamespacedName], fn Func, cfg PoolConfig) *Pool {
	return &Pool{name: name, queue: q, fn: fn, cfg: cfg.withDefaults()}
}

// Workers is how many keys are reconciled at once.
func (p *Pool) Workers() int { return p.cfg.Workers }

// Run waits for the sources and then reconciles what comes, until ctx ends or
// the queue is shut down. Then it takes no more keys, waits for the reconciles
// in hand, and returns when the last has returned. It shuts the queue down. Call
// it once.
//
// It returns nil when all in hand could end by themselves. It returns an error
// when ctx ended before the sources were synced (naming the source, and the
// source's last error), and when the DrainTimeout was not enough.
func (p *Pool) Run(ctx context.Context) error {
	defer p.queue.ShutDown()
	log := klog.FromContext(ctx).WithValues("controller", p.name)
	ctx = klog.NewContext(ctx, log)
	for _, s := range p.cfg.Sources {
		if err := s.wait(ctx); err != nil {
			return fmt.Errorf("pool %s: %w", p.name, err)
		}
	}
	log.V(1).Info("Workers start", "workers", p.cfg.Workers)

	work, interrupt := context.WithCancelCause(context.WithoutCancel(ctx))
	defer interrupt(nil)
	ended := p.start(ctx, work)
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	patience := time.NewTimer(p.cfg.DrainTimeout)
	defer patience.Stop()
	select {
	case <-ended:
		log.V(1).Info("Workers have stopped")
		return nil
	case <-patience.C:
	}
	interrupt(errDraining)
	<-ended
	return fmt.Errorf("pool %s: reconciles in hand were interrupted %v after the stop", p.name, p.cfg.DrainTimeout)
}

// start runs the workers: they take keys until taking ends, and reconcile with
// working. The channel is closed when the last has returned.
func (p *Pool) start(taking, working context.Context) <-chan struct{} {
	var workers sync.WaitGroup
	for range p.cfg.Workers {
		workers.Go(func() { p.work(taking, working) })
	}
	ended := make(chan struct{})
	go func() {
		workers.Wait()
		close(ended)
	}()
	return ended
}

func (p *Pool) work(taking, working context.Context) {
	for {
		key, causes, err := p.queue.Get(taking)
		if err != nil {
			return
		}
		p.serve(taking, working, key, causes)
	}
}

// serve takes one key from Get to Done.
func (p *Pool) serve(taking, working context.Context, key types.NamespacedName, causes []workqueue.Cause) {
	defer p.queue.Done(key)
	log := klog.FromContext(working).WithValues("key", key)
	if !p.pass(taking, log, key) {
		return
	}
	if f := p.cfg.Trace.OnStart; f != nil {
		f(key)
	}
	ctx := klog.NewContext(context.WithValue(working, causesKey{}, causes), log)
	alone := p.alone(causes, p.cfg.Gate.lastWrites(key))
	begun := time.Now()
	result, err := p.call(ctx, key)
	done := Reconciled{
		Key: key, Outcome: outcome(result, err), Result: result, Err: err,
		Took: time.Since(begun), Causes: causes,
	}
	if !p.damp(log, done, alone) {
		p.settle(done)
	}
	p.report(log, done)
	if f := p.cfg.Trace.OnReconcile; f != nil {
		f(done)
	}
}

// pass waits until the caches have seen the key's own writes. If that takes too
// long, the key backs off, so that it does not keep a worker from others. A stop
// ends the wait: the reconcile has not begun, and the next process begins it.
func (p *Pool) pass(taking context.Context, log klog.Logger, key types.NamespacedName) bool {
	ctx, cancel := context.WithTimeout(taking, p.cfg.GateTimeout)
	defer cancel()
	begun := time.Now()
	err := p.cfg.Gate.Wait(ctx, key)
	if err == nil {
		return true
	}
	if taking.Err() != nil {
		return false
	}
	p.queue.AddRateLimitedWithin(key, 0, p.cfg.TroubleCeiling, p.cause("stale"))
	log.Info("Not reconciled, since a cache is behind the key's own writes; will be tried again", "err", err)
	if f := p.cfg.Trace.OnStaleWait; f != nil {
		f(key, time.Since(begun), err)
	}
	return false
}

// call runs the Func, makes an error of its panic, and adds to an error why the
// Func's ctx had ended.
func (p *Pool) call(ctx context.Context, key types.NamespacedName) (result Result, err error) {
	if p.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrTimeout)
		defer cancel()
	}
	defer func() {
		if v := recover(); v != nil {
			caught := &PanicError{Value: v, Stack: debug.Stack()}
			result, err = Result{}, caught
			if f := p.cfg.Trace.OnPanic; f != nil {
				f(key, caught)
			}
		}
	}()
	result, err = p.fn(ctx, key)
	if err != nil && ctx.Err() != nil { // "context canceled" alone says nothing
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return result, err
}

// PanicError is what a panic of a Func becomes: an error of that key, which backs
// off like any other, while the others are served.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// settle tells the queue what becomes of the key at Done.
func (p *Pool) settle(done Reconciled) {
	switch done.Outcome {
	case Succeeded, FailedForGood:
		p.queue.Forget(done.Key)
	case RequeuedAfter:
		p.queue.Forget(done.Key)
		p.queue.AddAfter(done.Key, done.Result.RequeueAfter, p.cause(eventRequeueAfter))
	case Requeued:
		p.queue.AddRateLimitedWithin(done.Key, p.doubled(done.Key, soonBase, soonCeiling), soonCeiling, p.cause("requeue"))
	case Failed:
		if panicked := (*PanicError)(nil); errors.As(done.Err, &panicked) {
			atLeast := p.loops.poison(done.Key, done.Err, time.Now())
			p.queue.AddRateLimitedWithin(done.Key, atLeast, math.MaxInt64, p.cause("retry"))
			return
		}
		retryAfter, trouble := p.cfg.Trouble(done.Err)
		if lacksRight(done.Err) {
			retryAfter, trouble = p.doubled(done.Key, time.Second, p.cfg.TroubleCeiling), true
		}
		if trouble {
			p.queue.AddTroubled(done.Key, retryAfter, p.cfg.TroubleCeiling, p.cause("retry"))
			return
		}
		atLeast, ceiling := time.Duration(0), time.Duration(math.MaxInt64)
		if apierrors.IsConflict(done.Err) {
			atLeast, ceiling = p.doubled(done.Key, soonBase, soonCeiling), soonCeiling
		}
		p.queue.AddRateLimitedWithin(done.Key, atLeast, ceiling, p.cause("retry"))
	}
	if answered(done.Err) {
		p.queue.Release(releases, p.cfg.ReleaseGap)
	}
}

// lacksRight tells that the program may not do what a key needs. That is no key's fault,
// and nobody gives a right back within milliseconds: three keys asked thirty times in as
// many seconds (seed 1243). Nor is it to be slept over once the right is there.
func lacksRight(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// doubled is a pause of at least first, twice as long with each failure of the key.
func (p *Pool) doubled(key types.NamespacedName, first, most time.Duration) time.Duration {
	return min(first<<min(p.queue.NumRequeues(key), 10), most)
}

// soonBase is the shortest backoff after a conflict: until what was written is in the
// cache the key would meet it again, eight times in the first second (seed 1374).
const soonBase = 100 * time.Millisecond

// soonCeiling is the longest backoff after a conflict, and of a key that asks for another
// run soon, which is what most reconciles make of a conflict. Somebody else was quicker,
// which says nothing against the key: one that met a writer of 20 changes a second for a
// minute slept for minutes after he had gone.
const soonCeiling = 5 * time.Second

// releases is how many of the keys that back off because of the server a
// reconcile lets go that the server has answered. With two, whose answers let
// four go, all are on their way soon; and if it was not well after all, it has
// two more to refuse and no crowd.
const releases = 2

// answered tells whether a reconcile that ended so shows a server that is well.
// Without an error it is taken to: not all of them have asked the server, but
// one that is mistaken costs some keys one run each.
func answered(err error) bool {
	var answer apierrors.APIStatus
	return err == nil || errors.As(err, &answer)
}

// The events of which a key that asks for itself hears.
const (
	eventRequeueAfter = "requeue-after"
	eventHeldBack     = "held-back"
)

func (p *Pool) cause(event string) workqueue.Cause {
	return workqueue.Cause{Source: p.name, Event: event}
}

// report logs one line for each attempt, and none at the usual level if all is
// well. A conflict is well: somebody else was quicker, and his news are coming.
func (p *Pool) report(log klog.Logger, done Reconciled) {
	if done.Err == nil && !log.V(2).Enabled() {
		return
	}
	details := []any{"took", done.Took, "causes", lines(done.Causes)}
	var panicked *PanicError
	switch {
	case done.Err == nil:
		log.V(2).Info("Reconciled", append(details, "outcome", done.Outcome, "result", done.Result)...)
	case errors.As(done.Err, &panicked):
		log.Error(done.Err, "Reconcile panicked, will be tried again", append(details, "stack", string(panicked.Stack))...)
	case done.Outcome == FailedForGood:
		log.Error(done.Err, "Reconcile failed, will not be tried again", details...)
	case apierrors.IsConflict(done.Err):
		log.V(2).Info("Reconcile met a conflict, will be tried again", append(details, "err", done.Err)...)
	default:
		log.Error(done.Err, "Reconcile failed, will be tried again", append(details, "failures", p.queue.NumRequeues(done.Key))...)
	}
}

// lines writes each cause as people read it; its fields would be half a page.
func lines(causes []workqueue.Cause) []string {
	out := make([]string, 0, len(causes))
	for _, c := range causes {
		out = append(out, c.String())
	}
	return out
}
