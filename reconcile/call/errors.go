package call

import (
	"errors"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// UnlessGone passes over the answers to a call on a UID that is no more.
func UnlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
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

// Unreadable is an object that the server has and that is not what its type says.
type Unreadable struct{ Err error }

func (e *Unreadable) Error() string { return e.Err.Error() }

// Unwrap is the decoder's error.
func (e *Unreadable) Unwrap() error { return e.Err }
