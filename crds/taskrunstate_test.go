package crds

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestStateOfARun(t *testing.T) {
	cases := []struct {
		name                     string
		status                   corev1.ConditionStatus
		done, successful, failed bool
	}{
		{"new", "", false, false, false},
		{"going on", corev1.ConditionUnknown, false, false, false},
		{"ended well", corev1.ConditionTrue, true, true, false},
		{"failed", corev1.ConditionFalse, true, false, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var tr TaskRun
			if c.status != "" {
				tr.Status.Conditions.Set(Condition{Type: ConditionSucceeded, Status: c.status}, noon)
			}
			if tr.IsDone() != c.done || tr.IsSuccessful() != c.successful || tr.IsFailed() != c.failed {
				t.Errorf("done %t, successful %t, failed %t", tr.IsDone(), tr.IsSuccessful(), tr.IsFailed())
			}
		})
	}
}

// What a user asks for is not yet what has happened.
func TestAskedIsNotDone(t *testing.T) {
	tr := TaskRun{Spec: TaskRunSpec{Status: TaskRunSpecStatusCancelled}}
	if !tr.IsCancelled() || tr.IsPending() || tr.IsDone() {
		t.Error("a run that is to be cancelled reads as something else")
	}
	tr.Spec.Status = TaskRunSpecStatusPending
	if tr.IsCancelled() || !tr.IsPending() || tr.HasStarted() {
		t.Error("a run that is to wait reads as something else")
	}
}

func TestHasStarted(t *testing.T) {
	var tr TaskRun
	if tr.HasStarted() {
		t.Error("started without a start time")
	}
	tr.Status.StartTime = &metav1.Time{Time: noon}
	if !tr.HasStarted() {
		t.Error("not started in spite of a start time")
	}
}

// Two retries are three attempts.
func TestIsRetriable(t *testing.T) {
	tr := TaskRun{Spec: TaskRunSpec{Retries: 2}}
	for attempt, want := range []bool{true, true, false} {
		if got := tr.IsRetriable(); got != want {
			t.Errorf("after attempt %d retriable: %t", attempt, got)
		}
		tr.Status.RetriesStatus = append(tr.Status.RetriesStatus, TaskRunStatus{})
	}
}
