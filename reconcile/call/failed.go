package call

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
)

// Gate keeps a key from being reconciled before the caches have seen what its
// last reconcile wrote. *reconcile.Gate is one.
type Gate interface {
	Wrote(key types.NamespacedName, cache reconcile.Cache, resourceVersion string)
	Doubt(key types.NamespacedName)
	InDoubt(key types.NamespacedName) bool
	Clear(key types.NamespacedName)
}

// Failed is the error that a reconcile of the key ends with after a write has failed;
// what says what was being done. A write of which nobody knows whether it was done puts
// the key in doubt; one that the server would refuse again is terminal, but for a right
// that may be given back.
func Failed(gate Gate, key types.NamespacedName, what string, err error) error {
	err = fmt.Errorf("%s: %w", what, err)
	if InDoubt(err) {
		gate.Doubt(key)
	}
	if IsAnswer(err) && !apierrors.IsForbidden(err) && !apierrors.IsUnauthorized(err) {
		return reconcile.Terminal(err)
	}
	return err
}
