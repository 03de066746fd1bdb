package kubelet

import (
	"encoding/json"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A clock that is off shows in what the kubelet tells, and in what the entrypoint
// leaves behind: nothing that happens in the pod happens sooner or later for it.

// skew moves every time in a status.
func skew(s *corev1.PodStatus, by time.Duration) {
	if by == 0 {
		return
	}
	s.StartTime = moved(s.StartTime, by)
	for i := range s.Conditions {
		s.Conditions[i].LastTransitionTime = *moved(&s.Conditions[i].LastTransitionTime, by)
	}
	for _, statuses := range [][]corev1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range statuses {
			statuses[i].State = skewed(statuses[i].State, by)
		}
	}
}

// skewed leaves the state alone that it is made of: that is the truth.
func skewed(s corev1.ContainerState, by time.Duration) corev1.ContainerState {
	s = *s.DeepCopy()
	if r := s.Running; r != nil {
		r.StartedAt = *moved(&r.StartedAt, by)
	}
	if t := s.Terminated; t != nil {
		t.StartedAt, t.FinishedAt = *moved(&t.StartedAt, by), *moved(&t.FinishedAt, by)
		t.Message = skewedMessage(t.Message, by)
	}
	return s
}

func skewedMessage(message string, by time.Duration) string {
	var entries []entry
	if json.Unmarshal([]byte(message), &entries) != nil {
		return message
	}
	for i, e := range entries {
		if at, err := time.Parse(time.RFC3339, e.Value); err == nil && e.Key == "StartedAt" {
			entries[i].Value = at.Add(by).UTC().Format(startedAt)
		}
	}
	raw, err := json.Marshal(entries)
	if err != nil {
		panic(err) // it was unmarshalled
	}
	return string(raw)
}

func moved(t *metav1.Time, by time.Duration) *metav1.Time {
	if t.IsZero() {
		return t
	}
	at := metav1.NewTime(t.Add(by))
	return &at
}
