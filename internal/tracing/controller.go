package tracing

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/indexer"
	"millrace/internal/hook"
	"millrace/reconcile"
	"millrace/reconcile/pipelinerun"
	"millrace/reconcile/taskrun"
	"millrace/wire"
	"millrace/workqueue"
)

// Controller makes the spans of a queue and its pool. Make it with Tracer.Controller;
// that of a nil Tracer does nothing.
type Controller struct {
	tracer *Tracer
	name   string
	find   func(types.NamespacedName) (indexer.Glance, bool)
	// Where a run may have a span context of its own.
	annotated, written wire.Facet

	mu      sync.Mutex
	pending map[types.NamespacedName]*asks
	asks    int // of all that is pending
	working map[types.NamespacedName]*work
}

// Controller is that of a queue and a pool with the name of a kind of run in lower case:
// taskrun, pipelinerun. It is Tekton's name for the annotation of such runs, too.
func (t *Tracer) Controller(name string) *Controller {
	if t == nil {
		return nil
	}
	return &Controller{
		tracer:    t,
		name:      name,
		find:      func(types.NamespacedName) (indexer.Glance, bool) { return indexer.Glance{}, false },
		annotated: wire.NewFacet(`metadata.annotations["` + annotationOf(name) + `"]`),
		written:   wire.NewFacet("status.spanContext.traceparent"),
		pending:   map[types.NamespacedName]*asks{},
		working:   map[types.NamespacedName]*work{},
	}
}

// annotationOf is Tekton's annotation for the span context that a run is given.
func annotationOf(kind string) string { return "tekton.dev/" + kind + "SpanContext" }

// Facets are what the source of the runs has to be asked for beside others; none if
// tracing is off.
func (c *Controller) Facets() []wire.Facet {
	if c == nil {
		return nil
	}
	return []wire.Facet{c.annotated, c.written}
}

// Attach says where the runs are found, before the pool runs.
func (c *Controller) Attach(runs *indexer.Indexer) {
	if c != nil {
		c.find = runs.Glance
	}
}

// Queue adds the controller's hooks to those of a queue.
func (c *Controller) Queue(told workqueue.Trace[types.NamespacedName]) workqueue.Trace[types.NamespacedName] {
	if c == nil {
		return told
	}
	return told.Then(workqueue.Trace[types.NamespacedName]{OnAsk: c.asked, OnGet: c.got})
}

// Pool adds the controller's hooks to those of the pool whose Func is Func's.
func (c *Controller) Pool(told reconcile.Trace) reconcile.Trace {
	if c == nil {
		return told
	}
	return told.Then(reconcile.Trace{OnReconcile: c.end, OnStaleWait: c.stale})
}

// Func is fn with a ctx that has the span of the reconcile, under which are those of
// its requests: see Tracer.Transport.
func (c *Controller) Func(fn reconcile.Func) reconcile.Func {
	if c == nil {
		return fn
	}
	return func(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
		return fn(c.begin(ctx, key), key)
	}
}

// TaskRuns adds the end of a run to the hooks of a reconciler.
func (c *Controller) TaskRuns(told taskrun.Trace) taskrun.Trace {
	if c == nil {
		return told
	}
	told.Done = hook.One(told.Done, func(d taskrun.Done) {
		c.ended(d.Key, ended{d.Task, d.Status, d.Reason, d.Duration})
	})
	return told
}

// PipelineRuns is TaskRuns, of PipelineRuns.
func (c *Controller) PipelineRuns(told pipelinerun.Trace) pipelinerun.Trace {
	if c == nil {
		return told
	}
	told.Done = hook.One(told.Done, func(d pipelinerun.Done) {
		c.ended(d.Key, ended{d.Pipeline, d.Status, d.Reason, d.Duration})
	})
	return told
}

// ended is what became of a run.
type ended struct {
	of       string // the Task or Pipeline; empty if it is embedded
	status   corev1.ConditionStatus
	reason   string
	duration time.Duration
}

func (c *Controller) ended(key types.NamespacedName, e ended) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.working[key]; w != nil {
		w.over = &e
	}
}

// run is the trace of a key's run; false if there is no such run in the cache.
func (c *Controller) run(key types.NamespacedName) (run, bool) {
	found, ok := c.find(key)
	if !ok {
		return run{}, false
	}
	parent := trace.SpanContext{}
	if text, ok := found.Facet(c.written); ok { // Tekton has begun with it
		parent = written(text)
	}
	if text, ok := found.Facet(c.annotated); ok && !parent.IsValid() {
		parent = given(text)
	}
	return c.tracer.runOf(found.UID(), parent), true
}

// begin makes the spans of the way to a reconcile, and begins its own.
func (c *Controller) begin(ctx context.Context, key types.NamespacedName) context.Context {
	r, ok := c.run(key)
	if !ok {
		return ctx
	}
	ctx = withRun(ctx, r.span)
	c.mu.Lock()
	w := c.working[key]
	c.mu.Unlock()
	if !r.span.IsSampled() || w == nil {
		return ctx
	}
	ctx, span := c.start(ctx, key, r, w)
	c.mu.Lock()
	defer c.mu.Unlock()
	w.run, w.span = r, span
	return ctx
}

// start makes the spans of what led to a reconcile, and starts its own. The caller ends
// that.
func (c *Controller) start(ctx context.Context, key types.NamespacedName, r run, w *work) (context.Context, trace.Span) {
	causes := reconcile.Causes(ctx)
	links, first := c.links(r, w.asks.told(causes))
	who := trace.WithAttributes(
		attribute.String("millrace.controller", c.name),
		attribute.String("k8s.namespace.name", key.Namespace),
		attribute.String("millrace.key", key.String()),
		attribute.StringSlice("millrace.causes", lines(causes)),
	)
	_, queue := c.tracer.spans.Start(trace.ContextWithRemoteSpanContext(context.Background(), first), "queue "+c.name,
		who, trace.WithTimestamp(w.got.Add(-w.waited)))
	if a := w.asks; a != nil {
		queue.SetAttributes(attribute.Int("millrace.causes.forgotten", a.missed), attribute.Int("millrace.queue.stale", a.stale))
	}
	queue.End(trace.WithTimestamp(w.got))
	//nolint:spancheck // end ends it: the pool tells when.
	return c.tracer.spans.Start(trace.ContextWithSpanContext(ctx, queue.SpanContext()), "reconcile "+c.name, who, trace.WithLinks(links...))
}

// links are those to the causes of a reconcile; first is the event that came first of
// those in the run's own trace, or the run itself if there is none.
func (c *Controller) links(r run, causes []ask) (links []trace.Link, first trace.SpanContext) {
	inRun := trace.ContextWithRemoteSpanContext(context.Background(), r.span)
	first = r.span
	for _, k := range causes {
		to := k.after
		if k.arrival != nil {
			to = c.tracer.arrived(inRun, k.arrival)
			if first.Equal(r.span) && to.TraceID() == r.span.TraceID() {
				first = to
			}
		}
		if to.IsSampled() {
			links = append(links, trace.Link{SpanContext: to, Attributes: []attribute.KeyValue{
				attribute.String("millrace.cause", strings.TrimSpace(k.source+" "+k.event)),
			}})
		}
	}
	return links, first
}

func lines(causes []workqueue.Cause) []string {
	all := make([]string, len(causes))
	for i, c := range causes {
		all[i] = c.String()
	}
	return all
}

// end ends the span of a reconcile, and that of the run if the run is over.
func (c *Controller) end(done reconcile.Reconciled) {
	c.mu.Lock()
	w := c.working[done.Key]
	delete(c.working, done.Key)
	c.mu.Unlock()
	if w == nil || w.span == nil {
		return
	}
	w.span.SetAttributes(attribute.String("millrace.outcome", string(done.Outcome)))
	if done.Outcome == reconcile.RequeuedAfter {
		w.span.SetAttributes(attribute.Float64("millrace.requeue_after", done.Result.RequeueAfter.Seconds()))
	}
	end(w.span, done.Err)
	if w.over != nil {
		c.over(done.Key, w)
	}
}

// over makes the span of a run that has ended.
func (c *Controller) over(key types.NamespacedName, w *work) {
	ctx := context.Background()
	if w.run.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, w.run.parent)
	}
	now := time.Now()
	_, span := c.tracer.spans.Start(wanting(ctx, w.run.span), c.name, trace.WithTimestamp(now.Add(-w.over.duration)), trace.WithAttributes(
		attribute.String("k8s.namespace.name", key.Namespace),
		attribute.String("millrace.key", key.String()),
		attribute.String("millrace.of", w.over.of),
		attribute.String("millrace.reason", w.over.reason),
	))
	if w.over.status == corev1.ConditionFalse {
		span.SetStatus(codes.Error, w.over.reason)
	}
	span.End(trace.WithTimestamp(now))
}

// mostOfError of an error's text is told.
const mostOfError = 1024

func cut(text string) string {
	if len(text) <= mostOfError {
		return text
	}
	return strings.ToValidUTF8(text[:mostOfError], "") + "…"
}
