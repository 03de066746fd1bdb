package reconcile

import (
	"errors"
	"io"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// longestRetryAfter bounds what a server, or a maintenance page before it, can
// make a key wait: the pages name hours, and are over sooner. The reflectors have
// the same bound.
const longestRetryAfter = 5 * time.Minute

// ServerTrouble tells errors of a server that is not well, or not to be reached,
// from errors that are about the key: an answer of 429 or from 500 up, no answer
// at all, a deadline that ran out. retryAfter is the pause that the server asked
// for, if it did, and five minutes at the most.
//
// Such a key owes no quarter of an hour of backoff when the server is back.
func ServerTrouble(err error) (retryAfter time.Duration, trouble bool) {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		status := answer.Status()
		if status.Code != http.StatusTooManyRequests && status.Code < http.StatusInternalServerError {
			return 0, false
		}
		if status.Details != nil {
			asked := time.Duration(status.Details.RetryAfterSeconds) * time.Second
			retryAfter = min(max(asked, 0), longestRetryAfter)
		}
		return retryAfter, true
	}
	var unreachable net.Error // a *url.Error of a request without answer is one, too
	return 0, errors.As(err, &unreachable) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
