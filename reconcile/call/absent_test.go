package call

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A run that the server has no more is left alone for a while, in which its end comes
// to be known. Where it does not, the server is asked before each look, and not one that
// was made anew under its name is meant.
func TestARunThatIsGoneIsLeftAloneForAWhile(t *testing.T) {
	var a Absent
	key, now := types.NamespacedName{Namespace: "ci", Name: "build"}, time.Unix(0, 0)
	look := func(what string, uid types.UID, at time.Time, wantWait time.Duration, wantAsk bool) {
		t.Helper()
		if wait, ask := a.Look(key, uid, at); wait != wantWait || ask != wantAsk {
			t.Errorf("%s: it is left alone for %s, and the server is asked: %t", what, wait, ask)
		}
	}
	look("nothing was noted", "u1", now, 0, false)
	a.Note(key, "u1", now)
	look("half the time", "u1", now.Add(AbsentFor/2), AbsentFor/2, false)
	look("all of it", "u1", now.Add(AbsentFor), 0, true)
	look("once more", "u1", now.Add(2*AbsentFor), 0, true)
	a.Note(key, "u1", now.Add(2*AbsentFor))
	look("noted again", "u1", now.Add(2*AbsentFor), AbsentFor, false)
	a.Found(key)
	look("the server has it", "u1", now.Add(2*AbsentFor), 0, false)
	a.Note(key, "u1", now)
	look("another run of its name", "u2", now, 0, false)
	a.Note(key, "u1", now)
	look("its end is known", "", now, 0, false)
	if len(a.of) != 0 {
		t.Errorf("remembered: %v", a.of)
	}
}
