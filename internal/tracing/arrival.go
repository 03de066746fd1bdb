package tracing

import (
	"context"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"millrace/workqueue"
)

// arrival is an event of the API server on its way from the wire to the queues: what the
// span deltafifo tells. One event may wake two keys, as a TaskRun's wakes itself and its
// PipelineRun. It is one span all the same, in the trace of the first of them, and both
// have links to it.
type arrival struct {
	cause           workqueue.Cause // with strings of its own
	namespace       string
	object          string    // its name
	received, asked time.Time // off the wire; into the first queue

	mu   sync.Mutex
	span trace.SpanContext // once it was told
}

// is tells whether a cause is of the same event. Handlers are called with one event after
// the other of a resource, so nothing else can have been received at that very moment, at
// that version.
func (a *arrival) is(c workqueue.Cause, namespace, object string) bool {
	return a != nil && a.received.Equal(c.First) && a.cause.NewRV == c.NewRV && a.cause.OldRV == c.OldRV &&
		a.cause.Event == c.Event && a.namespace == namespace && a.object == object
}

// arrivals is the event of each resource that was asked for last: all that wakes a second
// key comes right behind the first.
type arrivals struct {
	mu   sync.Mutex
	last map[string]*arrival
}

// of is the event of a cause; nil if it is none of the API server's.
func (s *arrivals) of(c workqueue.Cause, namespace, key string, now time.Time) *arrival {
	if c.First.IsZero() {
		return nil
	}
	object := c.Name
	if object == "" {
		object = key
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.last[c.Source]; a.is(c, namespace, object) {
		return a
	}
	a := &arrival{cause: c, namespace: strings.Clone(namespace), object: strings.Clone(object), received: c.First, asked: now}
	a.cause.OldRV, a.cause.NewRV, a.cause.Name = strings.Clone(c.OldRV), strings.Clone(c.NewRV), ""
	if s.last == nil {
		s.last = map[string]*arrival{}
	}
	s.last[c.Source] = a
	return a
}

// arrived is the span of an event; ctx has the run that it is made for, if it is not
// made yet.
func (t *Tracer) arrived(ctx context.Context, a *arrival) trace.SpanContext {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.span.IsValid() {
		return a.span
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(a.received), trace.WithAttributes(
		attribute.String("millrace.resource", a.cause.Source),
		attribute.String("millrace.event", a.cause.Event),
		attribute.String("k8s.namespace.name", a.namespace),
		attribute.String("millrace.object", a.object),
		attribute.String("millrace.version.old", a.cause.OldRV),
		attribute.String("millrace.version.new", a.cause.NewRV),
		attribute.Int("millrace.merged", max(a.cause.Count, 1)-1),
	)}
	if list := t.listAt(a.cause.Source, a.received); list.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: list}))
	}
	_, span := t.spans.Start(ctx, "deltafifo "+a.cause.Source, options...)
	span.End(trace.WithTimestamp(a.asked))
	a.span = span.SpanContext()
	return a.span
}
