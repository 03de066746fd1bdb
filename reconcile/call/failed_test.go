package call

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"millrace/reconcile"
)

// Claim 5.
func TestHowAReconcileEndsAfterAFailedWrite(t *testing.T) {
	runs := schema.GroupResource{Group: "tekton.dev", Resource: "taskruns"}
	key := types.NamespacedName{Namespace: "ci", Name: "build"}
	for what, c := range map[string]struct {
		err    error
		result reconcile.Result
		ends   string // which error it ends with: none, "terminal" or "other"
		doubt  bool
		absent bool
	}{
		"somebody was quicker": {err: apierrors.NewConflict(runs, "build", errors.New("changed")), result: reconcile.Result{Requeue: true}},
		"the run is gone":      {err: apierrors.NewNotFound(runs, "build"), result: reconcile.Result{RequeueAfter: AbsentFor}, absent: true},
		"no answer came":       {err: errors.New("connection reset"), ends: "other", doubt: true},
		"it is refused":        {err: apierrors.NewBadRequest("no"), ends: "terminal"},
		"the right is missing": {err: apierrors.NewForbidden(runs, "build", errors.New("no")), ends: "other"},
	} {
		var absent Absent
		gate := reconcile.NewGate()
		result, err := Stopped(gate, &absent, key, "u1", "patch status", c.err)
		ends := ""
		switch {
		case reconcile.IsTerminal(err):
			ends = "terminal"
		case err != nil:
			ends = "other"
		}
		wait, _ := absent.Look(key, "u1", time.Now())
		if result != c.result || ends != c.ends || gate.InDoubt(key) != c.doubt || (wait > 0) != c.absent {
			t.Errorf("%s: %+v, %v; in doubt %t, absent for %s", what, result, err, gate.InDoubt(key), wait)
		}
	}
}

// What no other try would change is for another plan to judge, once.
func TestAnAnswerIsJudgedOnce(t *testing.T) {
	var known error
	tooLarge := apierrors.NewRequestEntityTooLargeError("etcdserver: request is too large")
	if again, err := Judged(&known, errors.New("connection reset")); again || err == nil || known != nil {
		t.Errorf("trouble: %t %v %v", again, err, known)
	}
	if again, err := Judged(&known, tooLarge); !again || err != nil || known != tooLarge { //nolint:errorlint // it is the very one
		t.Errorf("the first: %t %v %v", again, err, known)
	}
	if again, err := Judged(&known, tooLarge); again || err == nil {
		t.Errorf("the second: %t %v", again, err)
	}
}
