// Package tracetest is a collector for tests: it takes OTLP over HTTP, as a real one
// does, and shows what it was sent.
//
//		exporter ──POST /v1/traces, gzip, protobuf──▶ Collector ──Spans──▶ the test
//
//	 1. What is not a request of OTLP is refused with 400, and kept nowhere.
//	 2. Spans are those of all requests so far, in order of arrival.
//
// Its goroutines are the HTTP server's; Close ends them.
package tracetest

import (
	"cmp"
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is a server on a loopback port. Make it with New.
type Collector struct {
	*httptest.Server

	mu       sync.Mutex
	spans    []*tracepb.Span
	services []string
	headers  []http.Header
}

// New starts a Collector. The caller closes it.
func New() *Collector {
	c := &Collector{}
	c.Server = httptest.NewServer(c)
	return c
}

// RoundTrip is a way to the Collector without a network, for tests in a bubble of
// testing/synctest: a connection that is open there stops the clock.
func (c *Collector) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	c.ServeHTTP(w, r)
	return w.Result(), nil
}

// ServeHTTP takes one request of an exporter.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, r.Header.Clone())
	for _, of := range data.GetResourceSpans() {
		for _, a := range of.GetResource().GetAttributes() {
			c.services = append(c.services, a.GetKey()+"="+a.GetValue().GetStringValue())
		}
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an ExportTraceServiceResponse with nothing in it
}

func read(r *http.Request) (*tracepb.TracesData, error) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		return nil, fmt.Errorf("%s %s of %q is not OTLP", r.Method, r.URL.Path, r.Header.Get("Content-Type"))
	}
	var body io.Reader = r.Body
	if r.Header.Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, fmt.Errorf("unpack: %w", err)
		}
		body = z
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read: %w", err)
	}
	data := &tracepb.TracesData{}
	if err := proto.Unmarshal(raw, data); err != nil {
		return nil, fmt.Errorf("decode: %w", err)
	}
	return data, nil
}

// Spans are those that have arrived.
func (c *Collector) Spans() []*tracepb.Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Services are the attributes of the resources that have sent spans: name=value.
func (c *Collector) Services() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.services)
}

// Headers are those of all requests.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// Named are the spans of that name, in order of their beginning.
func (c *Collector) Named(name string) []*tracepb.Span {
	named := slices.DeleteFunc(c.Spans(), func(s *tracepb.Span) bool { return s.GetName() != name })
	slices.SortStableFunc(named, byStart)
	return named
}

// Attribute is the text of a span's attribute; empty if it has none of that name.
func Attribute(s *tracepb.Span, name string) string {
	for _, a := range s.GetAttributes() {
		if a.GetKey() != name {
			continue
		}
		switch v := a.GetValue(); v.GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			return v.GetStringValue()
		case *commonpb.AnyValue_ArrayValue:
			var all []string
			for _, each := range v.GetArrayValue().GetValues() {
				all = append(all, each.GetStringValue())
			}
			return strings.Join(all, ", ")
		default:
			return fmt.Sprint(v.GetIntValue())
		}
	}
	return ""
}

// Tree draws traces: a line for each span, below its parent, with the names of what it
// has links to.
func (c *Collector) Tree() string {
	spans := c.Spans()
	slices.SortStableFunc(spans, byStart)
	below := map[string][]*tracepb.Span{}
	names := map[string]string{}
	for _, s := range spans {
		names[id(s.GetSpanId())] = s.GetName()
	}
	for _, s := range spans {
		parent := id(s.GetParentSpanId())
		if names[parent] == "" {
			parent = "" // it is not here
		}
		below[parent] = append(below[parent], s)
	}
	var b strings.Builder
	draw(&b, below, names, "", 0)
	return b.String()
}

func draw(b *strings.Builder, below map[string][]*tracepb.Span, names map[string]string, parent string, depth int) {
	for _, s := range below[parent] {
		b.WriteString(strings.Repeat("  ", depth) + s.GetName())
		for i, link := range s.GetLinks() {
			sep := ", "
			if i == 0 {
				sep = " ← "
			}
			b.WriteString(sep + names[id(link.GetSpanId())])
		}
		b.WriteByte('\n')
		draw(b, below, names, id(s.GetSpanId()), depth+1)
	}
}

func byStart(a, b *tracepb.Span) int {
	return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano())
}

func id(raw []byte) string { return hex.EncodeToString(raw) }
