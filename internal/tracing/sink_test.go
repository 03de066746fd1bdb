package tracing

import (
	"context"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	sdktest "go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"millrace/internal/tracing/tracetest"
)

// exporter is one whose collector is what a test says.
type exporter func(ctx context.Context, spans []sdktrace.ReadOnlySpan) error

func (e exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e(ctx, spans)
}

func (exporter) Shutdown(context.Context) error { return nil }

func span() sdktrace.ReadOnlySpan {
	return sdktest.SpanStub{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	})}.Snapshot()
}

// played runs a sink in a bubble with a collector, while tell does what it likes; it is
// what was told, and how long the end took.
func played(t *testing.T, collector exporter, tell func(s *sink)) (losses map[Loss]int, delivered int, end time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		losses = map[Loss]int{}
		var mu sync.Mutex
		s := newSink(collector, Trace{
			Delivered: func(n int) { mu.Lock(); delivered += n; mu.Unlock() },
			Dropped:   func(why Loss, n int) { mu.Lock(); losses[why] += n; mu.Unlock() },
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { s.run(ctx); close(ended) }()
		tell(s)
		stopped := time.Now()
		cancel()
		<-ended
		end = time.Since(stopped)
	})
	return losses, delivered, end
}

// It never answers. Ten thousand spans are made without a pause, and the program ends
// after two seconds. What was not delivered is counted to the last one.
func TestADeadCollectorHoldsNobodyUp(t *testing.T) {
	const made = 10_000
	losses, delivered, end := played(t, func(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
		<-ctx.Done()
		return ctx.Err()
	}, func(s *sink) {
		begun := time.Now()
		for range made {
			s.OnEnd(span())
		}
		if took := time.Since(begun); took != 0 { // of the bubble's time: nothing waited
			t.Errorf("the spans took %v", took)
		}
		synctest.Wait()
	})
	if end != lastWord {
		t.Errorf("the end took %v, want %v", end, lastWord)
	}
	if losses[Full]+losses[Undelivered] != made || delivered != 0 || losses[Full] < made-mostWaiting-mostAtOnce-1 {
		t.Errorf("%d delivered, lost: %v, of %d", delivered, losses, made)
	}
}

func TestSpansAreBounded(t *testing.T) {
	s := newSink(exporter(nil), Trace{})
	for range mostWaiting + 100 {
		s.OnEnd(span())
	}
	if len(s.waiting) != mostWaiting {
		t.Errorf("%d spans wait", len(s.waiting))
	}
}

// Few spans wait for company for two seconds, many do not; the last ones are sent when
// the program ends.
func TestSpansAreSentTogether(t *testing.T) {
	var sent []int
	losses, delivered, _ := played(t, func(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
		sent = append(sent, len(spans))
		return nil
	}, func(s *sink) {
		for range mostAtOnce + 3 {
			s.OnEnd(span())
		}
		time.Sleep(oftenest)
		synctest.Wait()
		for range 2 * mostAtOnce {
			s.OnEnd(span())
		}
		s.OnEnd(span())
	})
	if want := []int{mostAtOnce, 3, mostAtOnce, mostAtOnce, 1}; !slices.Equal(sent, want) {
		t.Errorf("sent %v, want %v", sent, want)
	}
	if delivered != 3*mostAtOnce+4 || len(losses) != 0 {
		t.Errorf("%d delivered, lost: %v", delivered, losses)
	}
}

// A batch that the collector does not take is lost, and the next one is sent.
func TestABatchThatIsRefusedIsCounted(t *testing.T) {
	n := 0
	losses, delivered, _ := played(t, func(context.Context, []sdktrace.ReadOnlySpan) error {
		if n++; n == 1 {
			return errors.New("400")
		}
		return nil
	}, func(s *sink) {
		s.OnEnd(span())
		time.Sleep(oftenest)
		synctest.Wait()
		s.OnEnd(span())
		s.OnEnd(span())
	})
	if losses[Undelivered] != 1 || delivered != 2 {
		t.Errorf("%d delivered, lost: %v", delivered, losses)
	}
}

// answers has a collector give these answers, one after the other, and says how often
// it was asked.
func answers(t *testing.T, cfg Config, list ...func(http.ResponseWriter)) (asked int, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answer := list[min(asked, len(list)-1)]
		asked++
		answer(w)
	}))
	defer server.Close()
	cfg.Endpoint = server.URL
	c, err := newCollector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	err = c.UploadTraces(t.Context(), nil)
	return asked, errors.Join(err, c.Stop(t.Context()))
}

func code(n int) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(n) }
}

func TestACollectorThatIsBusyIsAskedAgain(t *testing.T) {
	if asked, err := answers(t, Config{}, code(http.StatusServiceUnavailable), code(http.StatusOK)); asked != 2 || err != nil {
		t.Errorf("asked %d times: %v", asked, err)
	}
	if asked, err := answers(t, Config{}, code(http.StatusBadRequest)); asked != 1 || err == nil {
		t.Errorf("one that refuses is asked %d times: %v", asked, err)
	}
}

// A login page that answers 200 is not where spans are delivered, nor a host that may have
// the headers.
func TestACollectorThatLeadsElsewhereHasNotTakenThem(t *testing.T) {
	elsewhere := 0
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer other.Close()
	for _, status := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect} {
		asked, err := answers(t, Config{}, func(w http.ResponseWriter) {
			w.Header().Set("Location", other.URL+"/login")
			w.WriteHeader(status)
		})
		if asked != 1 || err == nil || elsewhere != 0 {
			t.Errorf("%d: asked %d times, and %d times elsewhere: %v", status, asked, elsewhere, err)
		}
	}
}

// The answer 200 may say that some were not taken: 08 03 is rejected_spans: 3, and 0a 02
// the partial_success around it.
func TestWhatTheCollectorRejectsIsCounted(t *testing.T) {
	lost := 0
	cfg := Config{Trace: Trace{Dropped: func(why Loss, n int) {
		if why == Rejected {
			lost += n
		}
	}}}
	answer := func(body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = w.Write([]byte(body)) } // the client's to notice
	}
	for _, body := range []string{"\x0a\x02\x08\x03", "", "\x0a", "\x0a\x02\x08", "\xff\xff", "no protobuf"} {
		if _, err := answers(t, cfg, answer(body)); err != nil {
			t.Errorf("%q: %v", body, err)
		}
	}
	if lost != 3 {
		t.Errorf("%d spans are told to be rejected, want 3", lost)
	}
}

// Where spans are sent to, as OTLP 1.9 has it: a base has a path added, and the URL for
// traces none, not even where it has none of its own.
func TestWhereSpansAreSentTo(t *testing.T) {
	for want, cfg := range map[string]Config{
		"http://c:4318/v1/traces":       {Endpoint: "http://c:4318"},
		"http://c:4319/v1/traces":       {Endpoint: "http://c:4319/"},
		"https://c/otlp/v1/traces":      {Endpoint: "https://c/otlp"},
		"https://c/v1/traces":           {Endpoint: "https://c/v1/traces"},
		"https://vendor/api/v0.2/spans": {Endpoint: "http://c:4318", TracesEndpoint: "https://vendor/api/v0.2/spans"},
		"http://c:4320":                 {TracesEndpoint: "http://c:4320"},
	} {
		if got, err := cfg.url(); got != want || err != nil {
			t.Errorf("%+v: %q, %v, want %q", cfg, got, err, want)
		}
		if tracer, err := New(cfg); tracer == nil || err != nil || cfg.Off() {
			t.Errorf("%+v is off: %v", cfg, err)
		}
	}
}

// Headers of the variable are sent beside those of the file, which beat them by name.
func TestHeadersAreThoseOfTheVariableAndOfTheFile(t *testing.T) {
	cfg := Config{Headers: "authorization=Bearer%20old, X-Tenant=ci", HeadersFile: fileWith(t, "Authorization=Bearer%20new\n")}
	got, err := cfg.headers()
	if err != nil || len(got) != 2 || got.Get("Authorization") != "Bearer new" || len(got.Values("Authorization")) != 1 || got.Get("X-Tenant") != "ci" {
		t.Errorf("%v, %v", got, err)
	}
}

// What people say of a process beats what it knows of itself; OTEL_SERVICE_NAME beats the
// attribute; and the SDK, which reads the variables too, adds nothing behind our back.
func TestWhoHasMadeTheSpansIsAsPeopleSay(t *testing.T) {
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "nobody=asked,service.name=sdk")
	t.Setenv("OTEL_SERVICE_NAME", "sdk")
	for name, c := range map[string]struct {
		cfg  Config
		want []string
	}{
		"nobody":     {Config{}, []string{"service.name=millrace"}},
		"itself":     {Config{Version: "v1", Pod: "p", Namespace: "n"}, []string{"service.name=millrace", "service.version=v1", "service.instance.id=p", "k8s.namespace.name=n", "k8s.pod.name=p"}},
		"attributes": {Config{Version: "v1", ResourceAttributes: "deployment.environment.name=pro%2Cd, service.version=v2,service.name=builds,empty="}, []string{"service.name=builds", "service.version=v2", "deployment.environment.name=pro,d"}},
		"a name":     {Config{ResourceAttributes: "service.name=builds", ServiceName: "ci"}, []string{"service.name=ci"}},
	} {
		collector := tracetest.New()
		defer collector.Close()
		c.cfg.Endpoint, c.cfg.Transport, c.cfg.SamplingRatePerMillion = collector.URL, collector, 1e6
		tracer, err := New(c.cfg)
		if err != nil {
			t.Fatal(err)
		}
		_, span := tracer.spans.Start(t.Context(), "span")
		span.End()
		ended, end := context.WithCancel(t.Context())
		end()
		if err := tracer.Run(ended); err != nil {
			t.Error(err)
		}
		if got := collector.Services(); !slices.Equal(got, c.want) {
			t.Errorf("%s: the span is from %q, want %q", name, got, c.want)
		}
	}
}

// Over TLS, trusted by a file of its own, with a header that is a secret.
func TestACollectorBehindTLS(t *testing.T) {
	behind := tracetest.New()
	defer behind.Close()
	server := httptest.NewTLSServer(behind)
	defer server.Close()
	authorities := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	cfg := Config{
		Endpoint:        server.URL,
		CertificateFile: fileWith(t, string(authorities)),
		HeadersFile:     fileWith(t, "Authorization=Bearer%20abc, X-Tenant = ci\n"),
	}
	c, err := newCollector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.UploadTraces(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got := behind.Headers(); len(got) != 1 || got[0].Get("Authorization") != "Bearer abc" || got[0].Get("X-Tenant") != "ci" {
		t.Errorf("the collector was sent %v", got)
	}
}

func fileWith(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
