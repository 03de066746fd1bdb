package tracing

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"math/rand/v2"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"go.opentelemetry.io/otel/propagation"
	"k8s.io/apimachinery/pkg/types"
)

// run is the trace of a run (a TaskRun, a PipelineRun): the span that covers all of it,
// and who asked for it.
//
// The span's ids are a hash of the run's UID, so that every reconcile of the run finds
// the same trace, in another process too, and nothing has to be written down for it:
// Tekton writes the ids to status.spanContext, which costs a write. A UID as it is would
// not do for a trace id: its bits are not all chance, and the sampler looks at those.
type run struct {
	span trace.SpanContext
	// parent is what the run was given by whoever made it; not valid if nothing was.
	parent trace.SpanContext
}

// runOf is the trace of the run of a UID, which was given a parent or none. The parent
// says whether it is sampled; without one the rate does, and says the same every time.
func (t *Tracer) runOf(uid types.UID, parent trace.SpanContext) run {
	sum := sha256.Sum256([]byte(uid))
	c := trace.SpanContextConfig{TraceID: trace.TraceID(sum[:16]), SpanID: trace.SpanID(sum[16:24])}
	if parent.IsValid() {
		c.TraceID, c.TraceFlags, c.TraceState = parent.TraceID(), parent.TraceFlags(), parent.TraceState()
	} else if t.sampler.ShouldSample(sdktrace.SamplingParameters{TraceID: c.TraceID}).Decision == sdktrace.RecordAndSample {
		c.TraceFlags = trace.FlagsSampled
	}
	return run{trace.NewSpanContext(c), parent}
}

// given is the span context in an annotation of a run, as Tekton has it: a JSON object
// with the W3C headers, {"traceparent":"00-…"}. What cannot be read is none: it is not
// valid.
func given(annotation string) trace.SpanContext {
	headers := propagation.MapCarrier{}
	if json.Unmarshal([]byte(annotation), &headers) != nil {
		return trace.SpanContext{}
	}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), headers))
}

// annotation is the reverse of given.
func annotation(span trace.SpanContext) (string, bool) {
	headers := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), span), headers)
	text, err := json.Marshal(headers)
	return string(text), err == nil && span.IsValid()
}

// written is a traceparent that Tekton's controller has put into a run's status.
func written(traceparent string) trace.SpanContext {
	headers := propagation.MapCarrier{"traceparent": traceparent}
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), headers))
}

func chanceTrace() (id trace.TraceID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:8], rand.Uint64())
		binary.BigEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id
}

func chanceSpan() (id trace.SpanID) {
	for !id.IsValid() {
		binary.BigEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
