package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Config of a Tracer. Its zero value is tracing that is off.
type Config struct {
	// Endpoint is the base URL of a collector that takes OTLP over HTTP, such as
	// http://collector:4318; /v1/traces is added, as OTEL_EXPORTER_OTLP_ENDPOINT has
	// it. Default: none.
	Endpoint string
	// TracesEndpoint is the URL that spans are sent to, as it stands: nothing is added, as
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT has it. It beats Endpoint. Default: none, and
	// without either nothing is traced.
	TracesEndpoint string
	// Headers go with each request to the collector, such as a token: name=value, the value
	// URL-encoded, with commas or line ends between, which is the form of
	// OTEL_EXPORTER_OTLP_HEADERS. Default: none.
	Headers string
	// HeadersFile holds such headers, too; one of a name that is in both is the file's. It
	// is read once, by New. Default: none.
	HeadersFile string
	// CertificateFile holds the authorities, in PEM, that an https Endpoint is trusted
	// by. Default: the system's.
	CertificateFile string
	// SamplingRatePerMillion is how many of a million runs are traced that have no
	// span context of their own; those that have one are as it says. Default: 0.
	SamplingRatePerMillion int
	// Version, Namespace and Pod name this process on its spans. Default: empty, and
	// not told.
	Version, Namespace, Pod string
	// ServiceName is the spans' service.name. Default: that of ResourceAttributes; without
	// one, millrace.
	ServiceName string
	// ResourceAttributes are said of all spans: name=value, the value URL-encoded, with
	// commas between, which is the form of OTEL_RESOURCE_ATTRIBUTES. They beat Version,
	// Namespace and Pod; one without a value is not said. Default: none.
	ResourceAttributes string
	// Trace is told what became of the spans. Default: nobody is.
	Trace Trace
	// Transport is how the Endpoint is reached. Default: by TCP, with the proxy that the
	// environment names; then CertificateFile counts.
	Transport http.RoundTripper
}

// Trace is what a Tracer tells whoever watches it. Every field may be nil. The funcs
// may be called from any goroutine, also with the Tracer's locks held.
type Trace struct {
	// Delivered: the collector has taken so many spans.
	Delivered func(spans int)
	// Dropped: so many spans are lost.
	Dropped func(why Loss, spans int)
}

// Loss is why a span was dropped.
type Loss string

// The losses.
const (
	// Full: spans were made faster than the collector takes them.
	Full Loss = "full"
	// Undelivered: the collector did not take them, tried again and again; or the
	// program ended before it could.
	Undelivered Loss = "undelivered"
	// Rejected: the collector has answered that it does not want them. They are among
	// those delivered.
	Rejected Loss = "rejected"
	// Forgotten: a cause waited with so many others that it could not be remembered.
	Forgotten Loss = "forgotten"
)

func (t Trace) delivered(n int) {
	if t.Delivered != nil && n > 0 {
		t.Delivered(n)
	}
}

func (t Trace) dropped(why Loss, n int) {
	if t.Dropped != nil && n > 0 {
		t.Dropped(why, n)
	}
}

// Tracer makes the spans of one run of the program. Make it with New. The nil Tracer
// is tracing that is off: all that it gives out does nothing, and every hook that it is
// asked to add to is returned as it was.
type Tracer struct {
	spans    trace.Tracer
	sampler  sdktrace.Sampler
	sink     *sink
	told     Trace
	arrivals arrivals
	lists    lists
}

// Off tells whether the Config names no collector.
func (c Config) Off() bool { return c.Endpoint == "" && c.TracesEndpoint == "" }

// Check says what New cannot read of the Config, as far as that can be told without the
// files that it names. The error has no part of the headers.
func (c Config) Check() error {
	c.HeadersFile = ""
	if _, err := c.headers(); err != nil {
		return err
	}
	if _, err := c.resource(); err != nil || c.Off() {
		return err
	}
	_, err := c.url()
	return err
}

// New makes a Tracer: nil if the Config is Off. It starts nothing, and asks
// nobody: see Run. The error says what cannot be read of the Config.
func New(cfg Config) (*Tracer, error) {
	if cfg.Off() {
		return nil, nil //nolint:nilnil // A nil Tracer is one that is off, as it says.
	}
	to, err := newCollector(cfg)
	if err != nil {
		return nil, err
	}
	t := &Tracer{
		sampler: sdktrace.TraceIDRatioBased(float64(cfg.SamplingRatePerMillion) / 1e6),
		told:    cfg.Trace,
		sink:    newSink(otlptrace.NewUnstarted(to), cfg.Trace),
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(t.sampler)),
		sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithResource(resource.Empty()), // the collector has ours
		sdktrace.WithSpanProcessor(t.sink),
	)
	t.spans = provider.Tracer("millrace", trace.WithInstrumentationVersion(cfg.Version))
	return t, nil
}

// Run delivers spans until ctx has ended, and then for two seconds at most what is left.
// It returns nil. Call it once; that of a nil Tracer returns at once.
func (t *Tracer) Run(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.sink.run(ctx)
	return nil
}

// ids makes the ids of spans: chance ones, or those that somebody wants.
type ids struct{}

type wantedKey struct{}

// wanting has the next span that begins with ctx, and has no parent in this process,
// be the one of that context: see identity.go.
func wanting(ctx context.Context, span trace.SpanContext) context.Context {
	return context.WithValue(ctx, wantedKey{}, span)
}

// NewIDs are those of a span without a parent.
func (ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if span, ok := ctx.Value(wantedKey{}).(trace.SpanContext); ok {
		return span.TraceID(), span.SpanID()
	}
	return chanceTrace(), chanceSpan()
}

// NewSpanID is that of a span with a parent.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if span, ok := ctx.Value(wantedKey{}).(trace.SpanContext); ok {
		return span.SpanID()
	}
	return chanceSpan()
}
