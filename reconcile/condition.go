package reconcile

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SetCondition puts c into conditions, in place of the one of its type or at the
// end, and tells whether anything changed: if not, there is nothing to write.
//
// LastTransitionTime moves only when Status does, not with each reconcile; then
// it is c's, or now if c has none. It has whole seconds, as on the wire. c is
// refused, and nothing changed, if it has no Type, if its Status is not True,
// False or Unknown (which is: not determined yet), or if its Reason is not in
// CamelCase: tools match on reasons, and the API server refuses empty ones.
func SetCondition(conditions *[]metav1.Condition, c metav1.Condition) (changed bool, err error) {
	if err := checkCondition(c); err != nil {
		return false, err
	}
	if c.LastTransitionTime.IsZero() {
		c.LastTransitionTime = metav1.NewTime(time.Now())
	}
	c.LastTransitionTime = metav1.NewTime(c.LastTransitionTime.Truncate(time.Second))
	i := slices.IndexFunc(*conditions, func(have metav1.Condition) bool { return have.Type == c.Type })
	if i < 0 {
		*conditions = append(*conditions, c)
		return true, nil
	}
	have := &(*conditions)[i]
	if have.Status == c.Status && !have.LastTransitionTime.IsZero() {
		c.LastTransitionTime = have.LastTransitionTime
	}
	if *have == c {
		return false, nil
	}
	*have = c
	return true, nil
}

func checkCondition(c metav1.Condition) error {
	switch c.Status {
	case metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown:
	default:
		return fmt.Errorf("condition %q: status %q is not True, False or Unknown", c.Type, c.Status)
	}
	switch {
	case c.Type == "":
		return fmt.Errorf("condition with reason %q has no type", c.Reason)
	case !camelCase(c.Reason):
		return fmt.Errorf("condition %q: reason %q is not in CamelCase", c.Type, c.Reason)
	}
	return nil
}

func camelCase(s string) bool {
	for i, r := range s {
		upper := 'A' <= r && r <= 'Z'
		other := 'a' <= r && r <= 'z' || '0' <= r && r <= '9'
		if !upper && (i == 0 || !other) {
			return false
		}
	}
	return s != ""
}
