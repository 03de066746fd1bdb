package crds

import (
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func unknown(reason, message string) Condition {
	return Condition{Type: ConditionSucceeded, Status: corev1.ConditionUnknown, Reason: reason, Message: message}
}

// Claim 4, as a run would see it.
func TestTransitionTimeMovesOnlyWithStatus(t *testing.T) {
	var conditions Conditions

	// The first condition is a transition.
	set(t, &conditions, unknown("Started", ""), noon, true)
	wantTime(t, conditions, noon)

	// A minute later nothing is new.
	set(t, &conditions, unknown("Started", ""), noon.Add(time.Minute), false)
	wantTime(t, conditions, noon)

	// The pod waits for a node, then for an image: news, but no transition.
	set(t, &conditions, unknown("ExceededNodeResources", "no node has room"), noon.Add(2*time.Minute), true)
	set(t, &conditions, unknown("Pending", "no node has room"), noon.Add(3*time.Minute), true)
	set(t, &conditions, unknown("Pending", "pulling"), noon.Add(4*time.Minute), true)
	wantTime(t, conditions, noon)

	// It fails: a transition.
	failed := Condition{Type: ConditionSucceeded, Status: corev1.ConditionFalse, Reason: "Failed"}
	set(t, &conditions, failed, noon.Add(5*time.Minute), true)
	wantTime(t, conditions, noon.Add(5*time.Minute))

	if len(conditions) != 1 {
		t.Errorf("%d conditions of one type", len(conditions))
	}
}

// What Set reports as unchanged is unchanged in JSON too, also after the
// condition has been to the API server and back: else every reconcile would write.
func TestConditionIsTheSameAfterARoundTrip(t *testing.T) {
	var conditions Conditions
	odd := noon.Add(123456789 * time.Nanosecond).In(time.FixedZone("away", 3600))
	set(t, &conditions, unknown("Running", ""), odd, true)

	raw, err := json.Marshal(conditions)
	if err != nil {
		t.Fatal(err)
	}
	var back Conditions
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if !back[0].LastTransitionTime.Equal(&conditions[0].LastTransitionTime) {
		t.Errorf("set at %v, read back as %v", conditions[0].LastTransitionTime, back[0].LastTransitionTime)
	}
	set(t, &back, unknown("Running", ""), odd.Add(time.Hour), false)
}

func TestConditionsOfOtherTypesStay(t *testing.T) {
	conditions := Conditions{{Type: "Ready", Status: corev1.ConditionTrue}}
	set(t, &conditions, unknown("Started", ""), noon, true)
	if len(conditions) != 2 || conditions[0].Type != "Ready" {
		t.Errorf("%+v", conditions)
	}
	if _, ok := conditions.Get("Absent"); ok {
		t.Error("found a condition that is not there")
	}
}

// A condition that was never given a time does not claim the year 1, nor null.
func TestConditionWithoutTimeSaysNothing(t *testing.T) {
	raw, err := json.Marshal(Condition{Type: "Ready", Status: corev1.ConditionTrue})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"type":"Ready","status":"True"}`; string(raw) != want {
		t.Errorf("wrote %s, want %s", raw, want)
	}
}

func set(t *testing.T, conditions *Conditions, condition Condition, now time.Time, want bool) {
	t.Helper()
	if changed := conditions.Set(condition, now); changed != want {
		t.Errorf("setting %q %q changed: %t, want %t", condition.Reason, condition.Message, changed, want)
	}
}

func wantTime(t *testing.T, conditions Conditions, want time.Time) {
	t.Helper()
	condition, ok := conditions.Get(ConditionSucceeded)
	if !ok || !condition.LastTransitionTime.Time.Equal(want) {
		t.Errorf("last transition at %v, want %v", condition.LastTransitionTime, want)
	}
}
