package tracing

import (
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Transport makes a span of each request that a reconcile sends, until the headers of
// the answer are there, and gives it to the API server in the headers of W3C's trace
// context, which a kube-apiserver with tracing goes on with. It is for rest.Config's
// Wrap. That of a nil Tracer is nil, which Wrap ignores.
func (t *Tracer) Transport() func(http.RoundTripper) http.RoundTripper {
	if t == nil {
		return nil
	}
	return func(next http.RoundTripper) http.RoundTripper { return requests{t.spans, next} }
}

type requests struct {
	spans trace.Tracer
	next  http.RoundTripper
}

func (r requests) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return r.next.RoundTrip(req)
	}
	resource := resourceOf(req.URL.Path)
	ctx, span := r.spans.Start(ctx, req.Method+" "+resource, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		attribute.String("http.request.method", req.Method),
		attribute.String("server.address", req.URL.Host),
		attribute.String("url.path", req.URL.Path),
		attribute.String("millrace.resource", resource),
	))
	defer span.End()
	req = req.Clone(ctx)
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(req.Header))
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		span.SetStatus(codes.Error, cut(err.Error()))
		return resp, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", resp.StatusCode))
	if resp.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, resp.Status)
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (r requests) WrappedRoundTripper() http.RoundTripper { return r.next }

// resourceOf is the resource in a path of the API, with its subresource: pods,
// taskruns/status. It has no names of objects, and of another path it is nothing.
func resourceOf(path string) string {
	steps := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(steps) > 2 && steps[0] == "api": // api/v1/…
		steps = steps[2:]
	case len(steps) > 3 && steps[0] == "apis": // apis/group/v1/…
		steps = steps[3:]
	default:
		return ""
	}
	if len(steps) > 2 && steps[0] == "namespaces" {
		steps = steps[2:]
	}
	if len(steps) > 2 { // resource/name/subresource
		return steps[0] + "/" + steps[2]
	}
	return steps[0]
}
