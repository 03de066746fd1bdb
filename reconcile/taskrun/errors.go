package taskrun

import (
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// unlessGone passes over the answers to a call on a UID that is no more.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// inDoubt tells errors after which nobody knows whether the write was done: no
// answer came, or an answer from something that stands between.
func inDoubt(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	return status.Status().Code >= http.StatusInternalServerError || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err)
}

// isAnswer tells errors by which the server has judged the request, so that
// sending the same again gets the same answer.
func isAnswer(err error) bool {
	return !inDoubt(err) && !apierrors.IsTooManyRequests(err)
}
