package reconcile

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MaxSkew is by how much the server's clock may be ahead of this machine's before
// what it says is no time to go by.
const MaxSkew = time.Minute

// StartTime is when a run starts that is begun now: in whole seconds, and not before
// its creation, as people expect, if this machine's clock is a little behind the
// server's. If it is an hour behind, the run would be timed out an hour late: the end
// of its time is told by this clock.
func StartTime(now time.Time, created metav1.Time) *metav1.Time {
	at := metav1.NewTime(now.Truncate(time.Second))
	if at.Time.Before(created.Time) && created.Sub(at.Time) <= MaxSkew {
		at = created
	}
	return &at
}

// CompletionTime is when a run ends that ends now: in whole seconds, and not before it
// started.
func CompletionTime(now time.Time, started metav1.Time) *metav1.Time {
	at := metav1.NewTime(now.Truncate(time.Second))
	if at.Time.Before(started.Time) {
		at = started
	}
	return &at
}
