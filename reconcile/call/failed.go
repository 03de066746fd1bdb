package call

import (
	"fmt"
	"time"

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

// Stopped is how a reconcile of the run of that UID ends whose write has failed. After a
// conflict its view was stale, and the event that says so is on its way, or is here; what
// is not found is the run, and it is left alone. All else is Failed's.
func Stopped(gate Gate, absent *Absent, key types.NamespacedName, uid types.UID, what string, err error) (reconcile.Result, error) {
	switch {
	case apierrors.IsConflict(err):
		return reconcile.Result{Requeue: true}, nil
	case apierrors.IsNotFound(err):
		absent.Note(key, uid, time.Now())
		return reconcile.Result{RequeueAfter: AbsentFor}, nil
	default:
		return reconcile.Result{}, Failed(gate, key, what, err)
	}
}

// Judged keeps in known an answer that no other try would change: what it means for the
// run is for another plan to say. A second one is an error, as all others are.
func Judged(known *error, err error) (again bool, _ error) {
	if err == nil || *known != nil || !Unstorable(err) {
		return false, err
	}
	*known = err
	return true, nil
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
