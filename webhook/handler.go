package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"millrace/crds/validation"
)

// The paths, as webhook configurations and CRDs name them.
const (
	PathDefault  = "/default"
	PathValidate = "/validate"
	PathConvert  = "/convert"
)

// Config of a Handler. Its zero value works.
type Config struct {
	// Options are what the administrator has said, at the moment of the call; each
	// request asks once. Default: Tekton's defaults.
	Options func() validation.Options
	// Limit is how many bytes an AdmissionReview may have. Default: 3 MiB, which is
	// what an API server takes itself.
	Limit int64
	// ConversionLimit is that of a ConversionReview. Default: 32 MiB: a list of 500
	// objects, which is a page of kubectl's, comes in one.
	ConversionLimit int64
	// AtOnce is how many small AdmissionReviews are worked on at once, an eighth of it how
	// many large ones, and as many ConversionReviews besides; others wait. It bounds the
	// memory that requests take, and one kind does not wait behind another. A review is
	// small with less than 32 KiB. Default: 16.
	AtOnce int
	// Trace gets the news. Default: nobody.
	Trace Trace
}

// Trace is told what happens; every func may be nil. They are called by the goroutine
// that serves the request.
type Trace struct {
	// Answered: a request was, with that HTTP status.
	Answered func(path string, code int, took time.Duration)
	// HandshakeFailed: somebody and the server did not come to terms about TLS.
	HandshakeFailed func()
}

func (c Config) withDefaults() Config {
	if c.Options == nil {
		c.Options = func() validation.Options { return validation.Options{} }
	}
	if c.Limit == 0 {
		c.Limit = 3 << 20
	}
	if c.ConversionLimit == 0 {
		c.ConversionLimit = 32 << 20
	}
	if c.AtOnce == 0 {
		c.AtOnce = 16
	}
	if c.Trace.Answered == nil {
		c.Trace.Answered = func(string, int, time.Duration) {}
	}
	if c.Trace.HandshakeFailed == nil {
		c.Trace.HandshakeFailed = func() {}
	}
	return c
}

// NewHandler serves the three paths.
func NewHandler(cfg Config) http.Handler {
	cfg = cfg.withDefaults()
	kinds := kinds()
	few := max(1, cfg.AtOnce/8)
	small, large, conversions := make(chan struct{}, cfg.AtOnce), make(chan struct{}, few), make(chan struct{}, few)
	mux := http.NewServeMux()
	add := func(path string, limit int64, small, large chan struct{}, answer func([]byte) (any, error)) {
		mux.Handle(path, &endpoint{path: path, limit: limit, small: small, large: large, trace: cfg.Trace, answer: answer})
	}
	add(PathDefault, cfg.Limit, small, large, func(body []byte) (any, error) {
		return admission(body, func(a asked) decision { return kinds.byDefault(a, cfg.Options()) })
	})
	add(PathValidate, cfg.Limit, small, large, func(body []byte) (any, error) {
		return admission(body, func(a asked) decision { return kinds.validate(a, cfg.Options()) })
	})
	add(PathConvert, cfg.ConversionLimit, conversions, conversions, func(body []byte) (any, error) { return convert(body, cfg.ConversionLimit) })
	return mux
}

// An endpoint is what the paths have in common: who may ask, how much, and what
// happens when it goes wrong.
type endpoint struct {
	path   string
	limit  int64
	small  chan struct{} // has one for each small request that is worked on
	large  chan struct{} // has one for each other that is, or that is being read
	trace  Trace
	answer func(body []byte) (any, error) // the error is a *refusal
}

// small is how much of a request is read before it has a slot: who sends slowly, or
// nothing at all, keeps nobody else from being answered.
const small = 32 << 10

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	code, body := e.respond(w, r)
	w.Header().Set("Content-Type", "application/json")
	if code == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", http.MethodPost)
	}
	w.WriteHeader(code)
	if _, err := w.Write(body); err != nil {
		klog.FromContext(r.Context()).V(2).Info("nobody waits for the webhook's answer any more", "path", e.path, "err", err)
	}
	e.trace.Answered(e.path, code, time.Since(began))
}

// respond makes the answer. A panic in it is one answer, and no more.
func (e *endpoint) respond(w http.ResponseWriter, r *http.Request) (code int, body []byte) {
	defer func() {
		if cause := recover(); cause != nil {
			klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", cause), "a request to the webhook failed", "path", e.path, "stack", string(debug.Stack()))
			code, body = status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "the webhook failed on this request: its log says how")
		}
	}()
	raw, err := posted(w, r, e.limit)
	if err != nil {
		return asRefusal(err).status()
	}
	var review bytes.Buffer
	if err := read(&review, io.LimitReader(raw, small)); err != nil {
		return asRefusal(err).status()
	}
	slots := e.small
	if review.Len() == small {
		slots = e.large
	}
	if begin(r.Context(), slots) != nil {
		return status(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "too many requests at once")
	}
	defer func() { <-slots }()
	if err := read(&review, raw); err != nil {
		return asRefusal(err).status()
	}
	answer, err := e.answer(review.Bytes())
	if err != nil {
		return asRefusal(err).status()
	}
	return http.StatusOK, encode(answer)
}

// begin waits for a slot.
func begin(ctx context.Context, slots chan<- struct{}) error {
	select {
	case slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// status is an answer that is not a review.
func status(code int, reason metav1.StatusReason, message string) (int, []byte) {
	return code, encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status:   metav1.StatusFailure, Reason: reason, Code: int32(code), Message: strconv.Itoa(code) + ": " + message,
	})
}
