package tracing

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

const (
	// answerWithin is how long a request may take: OTLP's default.
	answerWithin = 10 * time.Second
	// attempts are made for a batch, with pauses that double from firstPause. So a
	// collector that restarts loses nothing, and one that is dead costs its batches
	// after a minute at most.
	attempts     = 4
	firstPause   = time.Second
	longestPause = 10 * time.Second
	mostOfAnswer = 64 << 10
)

// collector is where spans go: OTLP over HTTP, protobuf, compressed.
//
// It is not OpenTelemetry's otlptracehttp, which brings gRPC along for one message type:
// 111 more packages, and 5 MB in the binary and in each node's image cache. That message,
// ExportTraceServiceRequest, has the one field that TracesData has, with the same number.
type collector struct {
	url     string
	headers http.Header
	from    *resourcepb.Resource // who has made the spans
	client  *http.Client
	told    Trace
}

func newCollector(cfg Config) (*collector, error) {
	to, err := cfg.url()
	if err != nil {
		return nil, err
	}
	headers, err := cfg.headers()
	if err != nil {
		return nil, err
	}
	from, err := cfg.resource()
	if err != nil {
		return nil, err
	}
	headers.Set("Content-Type", "application/x-protobuf")
	headers.Set("Content-Encoding", "gzip")
	headers.Set("User-Agent", "millrace/"+cfg.Version)
	over := cfg.Transport
	if over == nil {
		if over, err = overTCP(cfg.CertificateFile); err != nil {
			return nil, err
		}
	}
	client := &http.Client{Transport: over, Timeout: answerWithin, CheckRedirect: stay}
	return &collector{to, headers, from, client, cfg.Trace}, nil
}

// url is where spans are sent to.
func (c Config) url() (string, error) {
	text := cmp.Or(c.TracesEndpoint, c.Endpoint)
	to, err := url.Parse(text)
	if err != nil || to.Host == "" || to.Scheme != "http" && to.Scheme != "https" {
		return "", fmt.Errorf("endpoint %q: want http://host:port or https://host:port", text)
	}
	if c.TracesEndpoint == "" && !strings.HasSuffix(to.Path, "/v1/traces") {
		to = to.JoinPath("v1/traces")
	}
	return to.String(), nil
}

// headers are those that people have given.
func (c Config) headers() (http.Header, error) {
	headers, err := headersOf(c.Headers)
	if err != nil {
		return nil, fmt.Errorf("headers for the collector: %w", err)
	}
	if c.HeadersFile == "" {
		return headers, nil
	}
	text, err := os.ReadFile(c.HeadersFile)
	if err != nil {
		return nil, fmt.Errorf("headers for the collector: %w", err)
	}
	fromFile, err := headersOf(string(text))
	if err != nil {
		return nil, fmt.Errorf("headers for the collector: %s: %w", c.HeadersFile, err)
	}
	maps.Copy(headers, fromFile)
	return headers, nil
}

func headersOf(text string) (http.Header, error) {
	all, err := pairs(text, func(p pair) bool { return isFieldName(p.name) && p.value != "" })
	headers := http.Header{}
	for _, p := range all {
		headers.Add(p.name, p.value)
	}
	return headers, err
}

// stay has the answer 302 be the answer. Who follows it asks some other host for a page, by
// GET, with our headers, and takes its 200 for that of a collector.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

func overTCP(certificates string) (http.RoundTripper, error) {
	trust, err := trusted(certificates)
	if err != nil {
		return nil, err
	}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		TLSClientConfig:     trust,
		TLSHandshakeTimeout: answerWithin,
		MaxConnsPerHost:     1,
		IdleConnTimeout:     time.Minute,
		ForceAttemptHTTP2:   true,
	}, nil
}

// isFieldName tells whether a header can have that name: a token of RFC 9110, 5.6.2. net/http
// would find out with the first request, and put the name into its error.
func isFieldName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		digit := '0' <= r && r <= '9'
		return !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func trusted(file string) (*tls.Config, error) {
	if file == "" {
		return &tls.Config{MinVersion: tls.VersionTLS12}, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("authorities of the collector: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("authorities of the collector: %s holds no certificate", file)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}, nil
}

// Start does nothing: there is no connection to be made beforehand.
func (*collector) Start(context.Context) error { return nil }

// Stop lets go of the connection.
func (c *collector) Stop(context.Context) error {
	c.client.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, and tries again what may go better then.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	for _, of := range spans {
		of.Resource = c.from
	}
	body, err := packed(spans)
	if err != nil {
		return err
	}
	pause := firstPause
	for n := 1; ; n++ {
		wait, err := c.post(ctx, body)
		if err == nil || wait < 0 || n == attempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(min(max(wait, pause), longestPause)):
			pause *= 2
		}
	}
}

func packed(spans []*tracepb.ResourceSpans) ([]byte, error) {
	raw, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return nil, fmt.Errorf("encode spans: %w", err)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err = z.Write(raw)
	if err = errors.Join(err, z.Close()); err != nil {
		return nil, fmt.Errorf("compress spans: %w", err)
	}
	return b.Bytes(), nil
}

// post makes one attempt. With an error, wait is how long the collector wants to be left
// alone before the next; below 0 if trying again is of no use (OTLP 1.9, "Failures").
func (c *collector) post(ctx context.Context, body []byte) (wait time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return -1, err
	}
	req.Header = c.headers.Clone()
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close() // what is left in it does not matter
	answer, err := io.ReadAll(io.LimitReader(resp.Body, mostOfAnswer))
	switch code := resp.StatusCode; {
	case code < http.StatusMultipleChoices:
		c.told.dropped(Rejected, rejected(answer))
		return 0, nil // an answer that is cut does not take back that it was taken
	case err != nil:
		return 0, err
	case code == http.StatusTooManyRequests, code == http.StatusBadGateway,
		code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return time.Duration(max(seconds, 0)) * time.Second, fmt.Errorf("%s answers %s", req.URL.Redacted(), resp.Status)
	default:
		return -1, fmt.Errorf("%s answers %s", req.URL.Redacted(), resp.Status)
	}
}

// rejected is how many spans an ExportTraceServiceResponse says were not taken:
// rejected_spans (1) of partial_success (1). An answer that is something else says none.
func rejected(answer []byte) int {
	partial := field(answer, 1, protowire.BytesType)
	inner, n := protowire.ConsumeBytes(partial)
	if n < 0 {
		return 0
	}
	count, n := protowire.ConsumeVarint(field(inner, 1, protowire.VarintType))
	if n < 0 {
		return 0
	}
	return int(min(count, mostAtOnce))
}

// field is a message from where the value of a field begins; nil if it is not there.
func field(message []byte, number protowire.Number, kind protowire.Type) []byte {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		if num == number && typ == kind {
			return message[n:]
		}
		m := protowire.ConsumeFieldValue(num, typ, message[n:])
		if m < 0 {
			return nil
		}
		message = message[n+m:]
	}
	return nil
}
