package crds

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ConditionSucceeded is the type of the one condition that a run has.
const ConditionSucceeded = "Succeeded"

// Condition is a fact about a run, in the shape that Tekton's clients read:
// unlike metav1.Condition it has no observedGeneration, and reason may be empty.
type Condition struct {
	// Succeeded.
	Type string `json:"type"`
	// Unknown, True or False.
	Status corev1.ConditionStatus `json:"status"`
	// Error (the empty one), Warning or Info.
	Severity string `json:"severity,omitempty"`
	// When status last changed.
	LastTransitionTime metav1.Time `json:"lastTransitionTime,omitzero"`
	// Why, in one word for programs.
	Reason string `json:"reason,omitempty"`
	// Why, in a sentence for people.
	Message string `json:"message,omitempty"`
}

// Conditions hold at most one Condition of a type.
type Conditions []Condition

// Get returns a copy of the condition of that type, and whether there is one.
func (c Conditions) Get(conditionType string) (Condition, bool) {
	for _, condition := range c {
		if condition.Type == conditionType {
			return condition, true
		}
	}
	return Condition{}, false
}

// succeeded returns the condition Succeeded; Unknown, without a reason, if there
// is none.
func (c Conditions) succeeded() Condition {
	if condition, ok := c.Get(ConditionSucceeded); ok {
		return condition
	}
	return Condition{Type: ConditionSucceeded, Status: corev1.ConditionUnknown}
}

// Set puts the condition in the place of the one of its type, or at the end,
// and returns whether anything changed. The caller's LastTransitionTime is not
// looked at: the earlier one stays while the status does, else it becomes now,
// cut to the second because that is all that JSON keeps of it.
//
// A new reason or message is not a transition (API conventions, "Typical status
// properties"): else a run whose pod waits first for a node and then for an
// image would never look stuck to an alert on its age.
func (c *Conditions) Set(condition Condition, now time.Time) (changed bool) {
	condition.LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
	i := slices.IndexFunc(*c, func(old Condition) bool { return old.Type == condition.Type })
	if i < 0 {
		*c = append(*c, condition)
		return true
	}
	old := (*c)[i]
	if old.Status == condition.Status {
		condition.LastTransitionTime = old.LastTransitionTime
	}
	(*c)[i] = condition
	return old != condition
}
