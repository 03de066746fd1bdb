package reflector

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func failure(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// What servers say, and what it means here.
func TestClassify(t *testing.T) {
	for _, c := range []struct {
		err  error
		want ending
	}{
		{failure(410, metav1.StatusReasonExpired, "too old resource version"), expired},
		{failure(410, metav1.StatusReasonGone, "gone"), expired},
		{failure(410, "", "no reason, as old servers' events have"), expired},
		{failure(0, metav1.StatusReasonExpired, "no code"), expired},
		{failure(504, metav1.StatusReasonTimeout, "Too large resource version: 9, current: 7"), tooLarge},
		{failure(504, metav1.StatusReasonTimeout, "context deadline exceeded"), unavailable},
		{failure(429, metav1.StatusReasonTooManyRequests, ""), unavailable},
		{failure(500, metav1.StatusReasonInternalError, "etcdserver: leader changed"), unavailable},
		{failure(503, "", ""), unavailable},
		{failure(0, metav1.StatusReasonInternalError, "no code"), unavailable},
		{failure(0, "", "nothing but a text"), unavailable},
		{failure(401, metav1.StatusReasonUnauthorized, ""), denied},
		{failure(0, metav1.StatusReasonUnauthorized, ""), denied},
		{failure(403, metav1.StatusReasonForbidden, ""), denied},
		{failure(0, metav1.StatusReasonForbidden, ""), denied},
		{failure(404, metav1.StatusReasonNotFound, ""), missing},
		{failure(0, metav1.StatusReasonNotFound, ""), missing},
		{failure(400, metav1.StatusReasonBadRequest, ""), rejected},
		{failure(0, metav1.StatusReasonInvalid, ""), rejected},
		{failure(405, metav1.StatusReasonMethodNotAllowed, ""), rejected},
		{failure(406, metav1.StatusReasonNotAcceptable, ""), unacceptable},
		{failure(0, metav1.StatusReasonNotAcceptable, ""), unacceptable},
		{failure(422, metav1.StatusReasonInvalid, ""), rejected},
		{errSilent, silent},
		{errNoEnd, silent},
		{errBehind, rewound},
		{errNoRV, unreachable},
		{errors.New("read tcp: connection reset by peer"), unreachable},
		{io.ErrUnexpectedEOF, unreachable},
	} {
		if got := classify(c.err); got != c.want {
			t.Errorf("%v: got %d, want %d", c.err, got, c.want)
		}
		if got := classify(fmt.Errorf("wrapped: %w", c.err)); got != c.want {
			t.Errorf("wrapped %v: got %d, want %d", c.err, got, c.want)
		}
	}
}

// A wish is honoured within reason.
func TestRetryAfterIsBounded(t *testing.T) {
	for seconds, want := range map[int32]time.Duration{-5: 0, 0: 0, 7: 7 * time.Second, 1 << 30: longestRetryAfter} {
		err := &apierrors.StatusError{ErrStatus: metav1.Status{Details: &metav1.StatusDetails{RetryAfterSeconds: seconds}}}
		if got := retryAfter(fmt.Errorf("wrapped: %w", err)); got != want {
			t.Errorf("%d s: got %v, want %v", seconds, got, want)
		}
	}
	if got := retryAfter(errors.New("no status")); got != 0 {
		t.Errorf("without a status: %v", got)
	}
}
