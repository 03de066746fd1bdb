package reflector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"millrace/wire"
)

// Reflector keeps one Sink told about one resource. Make it with New, and call
// Run once.
type Reflector struct {
	client   rest.Interface
	resource string
	sink     Sink
	cfg      Config
	random   *rand.Rand
	scanner  *wire.Scanner

	// turn is held by whoever tells the sink something while a watch is on. What
	// the sink was told, status.ResourceVersion and quarantine belong together,
	// and change within one turn. It is taken before mu.
	turn sync.Mutex
	// confinement wakes the goroutine that asks for what is in quarantine.
	confinement chan struct{}
	// soonest is when that goroutine may make its next request. Each watch has one
	// of its own, after that of the watch before has ended.
	soonest time.Time

	made     time.Time
	lastMove atomic.Int64 // the age at which the loop has last taken a step, or read something

	mu         sync.Mutex // guards what follows; not held while hooks or the sink are called
	status     Status
	quarantine quarantine
}

// New makes a Reflector for a resource ("pods", "taskruns") of the group and
// version that client speaks. It starts nothing.
//
// The client's own patience must be off: rest.Config with QPS -1 (its rate
// limiter would delay a relist behind other requests) and Timeout 0 (it would
// cut every watch). Its retries are turned off here, request by request: the
// states decide.
func New(client rest.Interface, resource string, sink Sink, cfg Config) *Reflector {
	cfg = cfg.withDefaults()
	scanner := wire.NewScanner(cfg.Facets...)
	scanner.Only(cfg.Kind)
	return &Reflector{
		client:   client,
		resource: resource,
		sink:     sink,
		cfg:      cfg,
		random:   rand.New(cfg.Rand),
		scanner:  scanner,
		made:     time.Now(),

		confinement: make(chan struct{}, 1),
	}
}

// Run lists and watches until ctx ends, which it answers at once whatever it
// is doing, and then returns nil. It returns an error only when no request can
// be made at all, as with a resource name that has a slash in it: all that a
// server or a network can do is tried again.
func (r *Reflector) Run(ctx context.Context) error {
	if err := r.request(r.cfg.Namespace, typeJSON).Error(); err != nil {
		return fmt.Errorf("reflect %s: %w", r.resource, err)
	}
	var resync sync.WaitGroup
	resync.Go(func() { r.resyncs(ctx) })
	defer resync.Wait()

	p := start(r.cfg)
	for ctx.Err() == nil {
		r.enter(p)
		p = r.step(ctx, p)
	}
	if p.stream != nil {
		p.stream.close()
	}
	r.enter(position{state: Stopped, rv: p.rv, err: p.err})
	return nil
}

// step does the one exchange that a position calls for.
func (r *Reflector) step(ctx context.Context, p position) position {
	switch p.state {
	case Probing:
		return p.after(r.probe(ctx, p))
	case WatchListing:
		return p.after(r.watchList(ctx, p))
	case Listing:
		return p.after(r.list(ctx, p))
	case Watching:
		o := r.watch(ctx, p)
		p.stream = nil
		return p.after(o)
	default: // BackingOff, Suspended
		return p.after(r.wait(ctx, p))
	}
}

// wait is the pause of BackingOff and Suspended.
func (r *Reflector) wait(ctx context.Context, p position) outcome {
	delay := r.cfg.Backoff.delay(p.failures, p.retryAfter, r.random)
	r.cfg.Trace.failed(Failure{In: p.failedIn, Err: p.err, Failures: p.failures, Wait: delay})
	klog.FromContext(ctx).Info("Cannot reflect, will try again",
		"resource", r.resource, "state", p.failedIn, "failures", p.failures, "wait", delay, "err", p.err)

	return r.pause(ctx, p, delay)
}

// outcomeOf sorts the error that ended an exchange, if it was one. The error of a
// request that we stopped ourselves is not the server's.
func (r *Reflector) outcomeOf(ctx context.Context, o outcome, doing string, err error) outcome {
	o.now = time.Now()
	if ctx.Err() != nil {
		o.end = stopped
		return o
	}
	if err == nil {
		o.end = complete
		return o
	}
	o.end = classify(err)
	o.err = fmt.Errorf("%s %s: %w", doing, r.resource, err)
	o.retryAfter = retryAfter(err)
	return o
}
