package peer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue" //nolint:depguard // The peer.
)

// Queue is client-go's rate limiting queue.
type Queue struct {
	workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// NewQueue makes a queue with the default limiter, or with one that always says
// the same backoff.
func NewQueue(backoff time.Duration) Queue {
	limiter := workqueue.DefaultTypedControllerRateLimiter[types.NamespacedName]()
	if backoff > 0 {
		limiter = workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](backoff, backoff)
	}
	return Queue{workqueue.NewTypedRateLimitingQueue(limiter)}
}

// Get says whether there was a key.
func (q Queue) Get() (types.NamespacedName, bool) {
	key, down := q.TypedRateLimitingInterface.Get()
	return key, !down
}
