package taskrun

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A run that the server has no more is left alone for a while, in which its end comes
// to be known; not so one that was made anew under its name.
func TestARunThatIsGoneIsLeftAloneForAWhile(t *testing.T) {
	var a absent
	key, now := types.NamespacedName{Namespace: "ci", Name: "build"}, time.Unix(0, 0)
	a.note(key, "u1", now)
	if wait := a.wait(key, "u1", now.Add(absentFor/2)); wait != absentFor/2 {
		t.Errorf("it is left alone for %s", wait)
	}
	if wait := a.wait(key, "u1", now.Add(absentFor)); wait != 0 || len(a.of) != 0 {
		t.Errorf("after its time it is left alone for %s", wait)
	}
	a.note(key, "u1", now)
	if wait := a.wait(key, "u2", now); wait != 0 || len(a.of) != 0 {
		t.Errorf("another run of its name is left alone for %s", wait)
	}
}
