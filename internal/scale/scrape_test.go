package main

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// What client_golang writes is what is read.
func TestMetricsAreReadAsTheyAreWritten(t *testing.T) {
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total", Help: "with \"quotes\" {and} braces"}, []string{"method", "path"})
	waited := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "waited_seconds", Help: "how long", Buckets: []float64{0.001, 0.01, 0.1}}, []string{"name"})
	registry.MustRegister(requests, waited)
	requests.WithLabelValues("GET", `a "b", {c}=\d`+"\n").Add(3)
	requests.WithLabelValues("GET", "").Add(1e9)
	requests.WithLabelValues("POST", "x").Inc()
	for _, seconds := range []float64{0.0001, 0.0001, 0.005, 0.5} {
		waited.WithLabelValues("runs").Observe(seconds)
	}
	waited.WithLabelValues("others").Observe(0.05)
	body := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(body, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	all, err := parseMetrics(body.Body.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if got := all.by("requests_total", "method"); got["GET"] != 1e9+3 || got["POST"] != 1 || len(got) != 2 {
		t.Errorf("by method: %v", got)
	}
	if got := all.sum("requests_total", "path", `a "b", {c}=\d`+"\n"); got != 3 {
		t.Errorf("of the odd path: %v", got)
	}
	for part, want := range map[float64]float64{0.5: 0.001, 0.75: 0.01, 0.99: math.Inf(1)} {
		if got := all.within(part, "waited_seconds", "name", "runs"); got != want {
			t.Errorf("%v of them waited at most %v, want %v", part, got, want)
		}
	}
	if got := all.within(0.5, "waited_seconds", "name", "nobody"); !math.IsNaN(got) {
		t.Errorf("nobody has waited %v", got)
	}
}

func FuzzParseMetrics(f *testing.F) {
	f.Add([]byte("# HELP a b\na{b=\"c\",d=\"\\\"e\"} 1.5e+09\na 2\n"))
	f.Add([]byte("a{b=\"c\n"))
	f.Add([]byte("a{} NaN\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := parseMetrics(text)
		if err != nil && all != nil {
			t.Error("samples beside an error")
		}
		_ = all.sum("a")
		_ = all.within(0.5, "a")
	})
}

func TestWhatTheKernelSaysOfAProcess(t *testing.T) {
	status := []byte("Name:\tVmRSS: 7\nVmHWM:\t  131072 kB\nVmRSS:\t   65536 kB\n")
	for name, want := range map[string]float64{"VmHWM:": 128 << 20, "VmRSS:": 64 << 20} {
		if got, err := kibibytes(status, name); err != nil || got != want {
			t.Errorf("%s %v, %v", name, got, err)
		}
	}
	if _, err := kibibytes(status, "VmSwap:"); err == nil {
		t.Error("a line that is not there was read")
	}
	got, err := processorTime([]byte("12 (a (b) c) S 1 12 12 0 -1 4194560 100 0 0 0 250 50 7 7 20 0 9 0 1 2 3"))
	if err != nil || got != 3*time.Second {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := processorTime([]byte("12 (x) S 1")); err == nil {
		t.Error("a stat without times was read")
	}
}
