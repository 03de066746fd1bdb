package reflector

import (
	"errors"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ending is how an exchange with the server ended, as far as the machine
// cares.
type ending uint8

const (
	// complete: the list is whole, or the pause is over.
	complete ending = iota
	// stopped: the context ended.
	stopped
	// closed: the server ended the stream between two events, as it does every
	// few minutes.
	closed
	// unreachable: no connection, or one that broke.
	unreachable
	// silent: nothing came for too long.
	silent
	// malformed: what came cannot be divided into events any more.
	malformed
	// expired: the server no longer has the history asked for (410).
	expired
	// tooLarge: the server has not reached the resourceVersion asked for.
	tooLarge
	// rewound: resourceVersions went back within one watch.
	rewound
	// unavailable: 5xx and 429; nothing is wrong with what we asked.
	unavailable
	// denied: 401 and 403; somebody must grant something.
	denied
	// missing: 404; the resource does not exist.
	missing
	// rejected: any other 4xx; asking the same again is no use.
	rejected
	// unacceptable: 406; the server has none of the formats asked for.
	unacceptable
)

var (
	errSilent = errors.New("nothing came from the server for too long")
	errNoEnd  = errors.New("the initial events did not end in time")
	errEarly  = errors.New("the server closed the watch before the initial events ended")
	errHasty  = errors.New("the server closed the watch soon after it began")
	errBehind = errors.New("the server's resourceVersions went back")
	errNoRV   = errors.New("the answer has no resourceVersion")
)

// classify sorts an error of a request, or the Status of an ERROR event.
func classify(err error) ending {
	switch {
	case errors.Is(err, errSilent), errors.Is(err, errNoEnd):
		return silent
	case errors.Is(err, errBehind):
		return rewound
	case errors.Is(err, errGap):
		return closed
	case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		return expired
	case isTooLarge(err):
		return tooLarge
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return unreachable
	}
	return classifyCode(codeOf(status.Status()))
}

func classifyCode(code int32) ending {
	switch {
	case code == http.StatusTooManyRequests, code >= 500:
		return unavailable
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return denied
	case code == http.StatusNotFound:
		return missing
	case code == http.StatusNotAcceptable:
		return unacceptable
	case code >= 400:
		return rejected
	}
	// A failure without a code: nothing says that it will last.
	return unavailable
}

// codeOf falls back on the reason, since the Status of an ERROR event does not
// always have a code.
func codeOf(s metav1.Status) int32 {
	if s.Code != 0 {
		return s.Code
	}
	switch s.Reason {
	case metav1.StatusReasonUnauthorized, metav1.StatusReasonForbidden:
		return http.StatusForbidden
	case metav1.StatusReasonNotFound:
		return http.StatusNotFound
	case metav1.StatusReasonNotAcceptable:
		return http.StatusNotAcceptable
	case metav1.StatusReasonBadRequest, metav1.StatusReasonInvalid, metav1.StatusReasonMethodNotAllowed:
		return http.StatusBadRequest
	}
	return 0
}

// tooLargeText is how servers before 1.18.6 said it: in a cause's message, or
// before 1.17 in the Status's own.
const tooLargeText = "Too large resource version"

// isTooLarge knows the three forms in which servers say that a resourceVersion
// is ahead of them.
func isTooLarge(err error) bool {
	if apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		return true
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || !apierrors.IsTimeout(err) {
		return false
	}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			if cause.Message == tooLargeText {
				return true
			}
		}
	}
	return strings.Contains(status.Status().Message, tooLargeText)
}

// longestRetryAfter bounds what a server, or a maintenance page before it, can
// make us wait.
const longestRetryAfter = 5 * time.Minute

// retryAfter is how long the server asked us to stay away, zero if it did not.
// The client puts the Retry-After header into the details of its error; an
// ERROR event brings them itself.
func retryAfter(err error) time.Duration {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.Status().Details == nil {
		return 0
	}
	asked := time.Duration(status.Status().Details.RetryAfterSeconds) * time.Second
	return min(max(asked, 0), longestRetryAfter)
}
