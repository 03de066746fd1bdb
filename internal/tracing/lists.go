package tracing

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"millrace/reflector"
	"millrace/wire"
)

// Resource makes the spans of a reflector: one for each list, and one for each watch,
// which lasts as long as the watch. They are traces of their own. Make it with
// Tracer.Resource; that of a nil Tracer does nothing.
type Resource struct {
	tracer *Tracer
	name   string

	mu     sync.Mutex
	list   trace.Span // the one at work; nil if there is none
	watch  trace.Span // likewise
	events int        // of that watch
	last   listed
}

// listed is a list, and when it was made; end is zero while it is.
type listed struct {
	span       trace.SpanContext
	start, end time.Time
}

// lists finds the list that an object came with, by the name of its resource.
type lists struct {
	mu  sync.Mutex
	all map[string]*Resource
}

// Resource is the chain of the resource of that name, which is the Source of the causes
// that it brings.
func (t *Tracer) Resource(name string) *Resource {
	if t == nil {
		return nil
	}
	r := &Resource{tracer: t, name: name}
	t.lists.mu.Lock()
	defer t.lists.mu.Unlock()
	if t.lists.all == nil {
		t.lists.all = map[string]*Resource{}
	}
	t.lists.all[name] = r
	return r
}

// listAt is the list of a resource that was on its way then; not valid if none was, or
// it is not sampled.
func (t *Tracer) listAt(resource string, then time.Time) trace.SpanContext {
	t.lists.mu.Lock()
	r := t.lists.all[resource]
	t.lists.mu.Unlock()
	if r == nil {
		return trace.SpanContext{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if then.Before(r.last.start) || !r.last.end.IsZero() && then.After(r.last.end) || !r.last.span.IsSampled() {
		return trace.SpanContext{}
	}
	return r.last.span
}

// Source adds the hooks to those of the resource's reflector.
func (r *Resource) Source(told reflector.Trace) reflector.Trace {
	if r == nil {
		return told
	}
	return told.Then(reflector.Trace{
		Moved: r.moved, Listed: r.listed, Failed: r.failed,
		Event: func(wire.EventType) {
			r.mu.Lock()
			r.events++
			r.mu.Unlock()
		},
	})
}

func (r *Resource) moved(_, to reflector.State) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked(nil)
	switch to {
	case reflector.Listing, reflector.WatchListing:
		r.list = r.begin("list")
		r.last = listed{span: r.list.SpanContext(), start: time.Now()}
	case reflector.Watching:
		r.watch, r.events = r.begin("watch"), 0
	case reflector.Stopped, reflector.Probing, reflector.BackingOff, reflector.Suspended:
	}
}

func (r *Resource) begin(what string) trace.Span {
	_, span := r.tracer.spans.Start(context.Background(), what+" "+r.name, //nolint:spancheck // endLocked ends it.
		trace.WithAttributes(attribute.String("millrace.resource", r.name)))
	return span //nolint:spancheck // Likewise.
}

func (r *Resource) listed(l reflector.List) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		return
	}
	r.list.SetAttributes(
		attribute.String("millrace.list.cause", string(l.Cause)),
		attribute.Bool("millrace.list.streamed", l.Streamed),
		attribute.Int("millrace.list.pages", l.Pages),
		attribute.Int("millrace.list.items", l.Items),
	)
	r.endLocked(nil)
}

func (r *Resource) failed(f reflector.Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endLocked(f.Err)
}

// endLocked ends what is at work, if anything is.
func (r *Resource) endLocked(err error) {
	if r.list != nil {
		end(r.list, err)
		r.last.end = time.Now()
		r.list = nil
	}
	if r.watch != nil {
		r.watch.SetAttributes(attribute.Int("millrace.watch.events", r.events))
		end(r.watch, err)
		r.watch = nil
	}
}

// end ends a span, with an error if there is one.
func end(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, cut(err.Error()))
	}
	span.End()
}
