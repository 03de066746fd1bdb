package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Transport counts and times the requests that pass through it. It is for
// rest.Config's Wrap: client-go's own metrics hook is a package global.
//
// The duration is that of the response's headers: a watch's body lasts as long
// as the watch.
func (r *Registry) Transport() func(http.RoundTripper) http.RoundTripper {
	t := transport{
		requests: r.make.NewCounterVec(prometheus.CounterOpts{
			Name: "rest_client_requests_total",
			Help: "Number of HTTP requests, partitioned by status code, method, and host.",
		}, []string{"code", "method", "host"}),
		seconds: r.make.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "rest_client_request_duration_seconds",
			Help:    "Request latency in seconds, until the response's headers. Broken down by verb, and host.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
		}, []string{"verb", "host"}),
	}
	return func(next http.RoundTripper) http.RoundTripper {
		t := t
		t.next = next
		return t
	}
}

type transport struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	next     http.RoundTripper
}

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(req)
	code := "<error>" // as client-go names a request without a response
	if err == nil {
		code = strconv.Itoa(resp.StatusCode)
	}
	t.requests.WithLabelValues(code, req.Method, req.URL.Host).Inc()
	t.seconds.WithLabelValues(req.Method, req.URL.Host).Observe(time.Since(start).Seconds())
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below, which it looks
// for when it wants to close idle connections.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }
