package call

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func statusError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

// Errors are sorted by whether the write may have been done.
func TestErrorsAreOfThreeSorts(t *testing.T) {
	for name, c := range map[string]struct {
		err             error
		doubted, answer bool
	}{
		"connection lost":  {errors.New("connection reset by peer"), true, false},
		"deadline":         {context.DeadlineExceeded, true, false},
		"gateway":          {statusError(504, metav1.StatusReasonTimeout, ""), true, false},
		"internal":         {statusError(500, metav1.StatusReasonInternalError, ""), true, false},
		"server timeout":   {statusError(504, metav1.StatusReasonServerTimeout, ""), true, false},
		"overload":         {statusError(429, metav1.StatusReasonTooManyRequests, ""), false, false},
		"conflict":         {statusError(409, metav1.StatusReasonConflict, ""), false, true},
		"invalid":          {statusError(422, metav1.StatusReasonInvalid, ""), false, true},
		"forbidden":        {statusError(403, metav1.StatusReasonForbidden, ""), false, true},
		"too large":        {statusError(500, "", "etcdserver: request is too large"), false, true},
		"wrapped conflict": {fmt.Errorf("x: %w", statusError(409, metav1.StatusReasonConflict, "")), false, true},
	} {
		if InDoubt(c.err) != c.doubted || IsAnswer(c.err) != c.answer {
			t.Errorf("%s: doubt %v, answer %v", name, InDoubt(c.err), IsAnswer(c.err))
		}
	}
}
