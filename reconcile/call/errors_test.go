package call

import (
	"context"
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
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

// What a server says of a UID that is no more depends on what it was asked.
func TestACallOnWhatIsGoneIsNoError(t *testing.T) {
	pod := schema.GroupKind{Kind: "Pod"}
	immutable := func(name string) error {
		return apierrors.NewInvalid(pod, "a", field.ErrorList{field.Invalid(field.NewPath("metadata", name), "another", "field is immutable")})
	}
	for name, c := range map[string]struct {
		err  error
		gone bool
	}{
		"not found":           {statusError(404, metav1.StatusReasonNotFound, ""), true},
		"deletion of another": {statusError(409, metav1.StatusReasonConflict, ""), true},
		"patch of another":    {fmt.Errorf("stop pod: %w", immutable("uid")), true},
		"invalid otherwise":   {immutable("name"), false},
		"invalid, no details": {statusError(422, metav1.StatusReasonInvalid, ""), false},
		"forbidden":           {statusError(403, metav1.StatusReasonForbidden, ""), false},
	} {
		if got := UnlessGone(c.err) == nil; got != c.gone {
			t.Errorf("%s: passed over %v", name, got)
		}
	}
}
