package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"millrace/webhook"
)

// Webhook returns the hooks of the webhook. The first two names are
// controller-runtime's; its label webhook is the path.
func (r *Registry) Webhook() webhook.Trace {
	requests := r.make.NewCounterVec(prometheus.CounterOpts{
		Name: "controller_runtime_webhook_requests_total",
		Help: "Total number of admission requests by HTTP status code.",
	}, []string{"webhook", "code"})
	seconds := r.make.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "controller_runtime_webhook_latency_seconds",
		Help:    "Histogram of the latency of processing admission requests.",
		Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10},
	}, []string{"webhook"})
	handshakes := r.make.NewCounter(prometheus.CounterOpts{
		Name: "webhook_tls_handshake_errors_total",
		Help: "Connections to the webhook that ended before TLS was agreed on: by an API server that does not trust the certificate, or by whoever scans ports.",
	})
	for _, path := range []string{webhook.PathDefault, webhook.PathValidate, webhook.PathConvert} {
		requests.WithLabelValues(path, "200") // so that a rate has a beginning
		seconds.WithLabelValues(path)
	}
	return webhook.Trace{
		Answered: func(path string, code int, took time.Duration) {
			requests.WithLabelValues(path, strconv.Itoa(code)).Inc()
			seconds.WithLabelValues(path).Observe(took.Seconds())
		},
		HandshakeFailed: handshakes.Inc,
	}
}

// Certificate exports when the webhook's certificate in use expires; 0 while there is
// none.
func (r *Registry) Certificate(expires func() time.Time) {
	r.make.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "webhook_certificate_expiry_timestamp_seconds",
		Help: "When the serving certificate of the webhook expires, in seconds since 1970. It is renewed with a third of its life left.",
	}, func() float64 {
		at := expires()
		if at.IsZero() {
			return 0
		}
		return float64(at.Unix())
	})
}
