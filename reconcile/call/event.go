package call

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"millrace/crds"
)

// Recorder emits Kubernetes events. A record.EventRecorder is one. It must not
// block.
type Recorder interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Event has the types and reasons of Tekton's events of a run, which people filter by:
// condition is its Succeeded, and had tells whether it had one before.
func Event(had bool, condition crds.Condition) (eventType, reason, message string) {
	switch {
	case condition.Status == corev1.ConditionTrue:
		return corev1.EventTypeNormal, "Succeeded", condition.Message
	case condition.Status == corev1.ConditionFalse:
		return corev1.EventTypeWarning, "Failed", condition.Message
	case !had:
		return corev1.EventTypeNormal, "Started", condition.Message
	default:
		return corev1.EventTypeNormal, condition.Reason, condition.Message
	}
}
