package call

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UnlessGone passes over the answers to a call on a UID that is no more. To a
// deletion that names another UID a server says that it conflicts, to a patch that
// it is invalid.
func UnlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ofAnotherUID(err) {
		return nil
	}
	return err
}

func ofAnotherUID(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field == "metadata.uid" })
}

// InDoubt tells errors after which nobody knows whether the write was done: no
// answer came, or an answer from something that stands between.
func InDoubt(err error) bool {
	if Unstorable(err) {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= http.StatusInternalServerError || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// Unstorable tells answers by which the server will never take what it was sent:
// against the schema, or too large. What is too large for etcd, or for the way to
// it, comes as an internal error in their words, and is none that passes.
func Unstorable(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		strings.Contains(err.Error(), "etcdserver: request is too large") ||
		strings.Contains(err.Error(), "trying to send message larger than max")
}

// IsAnswer tells errors by which the server has judged the request, so that
// sending the same again gets the same answer.
func IsAnswer(err error) bool {
	return !InDoubt(err) && !apierrors.IsTooManyRequests(err)
}

// An UnreadableError is an object that the server has and that is not what its type says.
type UnreadableError struct{ Err error }

func (e *UnreadableError) Error() string { return e.Err.Error() }

// Unwrap is the decoder's error.
func (e *UnreadableError) Unwrap() error { return e.Err }
