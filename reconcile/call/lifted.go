package call

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// MayBeLifted tells refusals to create that an administrator or time may lift without
// the object being changed: a quota, a LimitRange, a webhook, a ServiceAccount that is
// not there yet, a namespace that is going away. That the name is taken is none.
func MayBeLifted(err error) bool {
	return apierrors.IsForbidden(err) || // LimitRange, ServiceAccount, namespace terminating, RBAC
		apierrors.IsUnauthorized(err) ||
		apierrors.IsNotFound(err) || // the namespace itself
		apierrors.IsConflict(err) ||
		apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) ||
		strings.Contains(err.Error(), "denied the request") || // the API server's words for a webhook's No
		WebhookAway(err)
}

// WebhookAway tells that a webhook which has to be asked about a creation does not
// answer. To the API server that is an error of its own (500); but it asks before
// it stores, so that nothing was made is not in doubt.
func WebhookAway(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}
