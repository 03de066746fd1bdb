package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"millrace/reconcile"
)

func at(second int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 0, 0, second, 0, time.UTC))
}

// Claim 13.
func TestTheTransitionTimeMovesWithTheStatusOnly(t *testing.T) {
	conditions := []metav1.Condition{{Type: "Other", Status: "True", Reason: "Fine", LastTransitionTime: at(1)}}
	steps := []struct {
		set     metav1.Condition
		changed bool
		since   metav1.Time
	}{
		{metav1.Condition{Status: "Unknown", Reason: "Pending", LastTransitionTime: at(2)}, true, at(2)},
		{metav1.Condition{Status: "Unknown", Reason: "Pending", LastTransitionTime: at(3)}, false, at(2)},
		{metav1.Condition{Status: "Unknown", Reason: "Pulling", LastTransitionTime: at(4)}, true, at(2)},
		{metav1.Condition{Status: "True", Reason: "Done", Message: "all 3 steps", LastTransitionTime: at(5)}, true, at(5)},
		{metav1.Condition{Status: "True", Reason: "Done", Message: "all 4 steps", LastTransitionTime: at(6)}, true, at(5)},
		{metav1.Condition{Status: "True", Reason: "Done", Message: "all 4 steps", ObservedGeneration: 2, LastTransitionTime: at(7)}, true, at(5)},
		{metav1.Condition{Status: "False", Reason: "Broken", ObservedGeneration: 2, LastTransitionTime: at(8)}, true, at(8)},
	}
	for i, step := range steps {
		step.set.Type = "Ready"
		changed, err := reconcile.SetCondition(&conditions, step.set)
		if err != nil || changed != step.changed {
			t.Errorf("step %d: changed %v, %v; want %v", i, changed, err, step.changed)
		}
		want := step.set
		want.LastTransitionTime = step.since
		if diff := cmp.Diff(want, conditions[1]); diff != "" {
			t.Errorf("step %d: %s", i, diff)
		}
	}
	if len(conditions) != 2 || conditions[0].Type != "Other" {
		t.Errorf("the other condition has become %v", conditions)
	}
}

func TestAConditionWithoutATimeIsOfNow(t *testing.T) {
	var conditions []metav1.Condition
	before := time.Now().Truncate(time.Second)
	if _, err := reconcile.SetCondition(&conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "Done"}); err != nil {
		t.Fatal(err)
	}
	since := conditions[0].LastTransitionTime
	if since.Before(&metav1.Time{Time: before}) || since.Nanosecond() != 0 {
		t.Errorf("LastTransitionTime = %v, want now, in whole seconds", since)
	}
}

func TestAConditionThatNeverHadATimeGetsOne(t *testing.T) {
	conditions := []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Done"}}
	changed, err := reconcile.SetCondition(&conditions, metav1.Condition{Type: "Ready", Status: "True", Reason: "Done", LastTransitionTime: at(3)})
	if err != nil || !changed || !conditions[0].LastTransitionTime.Equal(&metav1.Time{Time: at(3).Time}) {
		t.Errorf("changed %v, %v: %v", changed, err, conditions)
	}
}

// Claim 13: tools match on reasons.
func TestWhatIsNoConditionIsRefused(t *testing.T) {
	for _, c := range []metav1.Condition{
		{Type: "", Status: "True", Reason: "Done"},
		{Type: "Ready", Status: "", Reason: "Done"},
		{Type: "Ready", Status: "true", Reason: "Done"},
		{Type: "Ready", Status: "True", Reason: ""},
		{Type: "Ready", Status: "True", Reason: "done"},
		{Type: "Ready", Status: "True", Reason: "All done"},
		{Type: "Ready", Status: "True", Reason: "All-Done"},
		{Type: "Ready", Status: "True", Reason: "3Steps"},
	} {
		var conditions []metav1.Condition
		if changed, err := reconcile.SetCondition(&conditions, c); err == nil || changed || conditions != nil {
			t.Errorf("%+v is taken: %v, %v", c, changed, err)
		}
	}
}

var fooKind = schema.GroupVersionKind{Group: "examples.millrace.dev", Version: "v1", Kind: "Foo"}

// Claim 14.
func TestSetControllerReference(t *testing.T) {
	foo := &metav1.ObjectMeta{Namespace: "ci", Name: "foo", UID: "1"}
	yes := true
	want := metav1.OwnerReference{
		APIVersion: "examples.millrace.dev/v1", Kind: "Foo", Name: "foo", UID: "1",
		Controller: &yes, BlockOwnerDeletion: &yes,
	}
	stranger := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "c", UID: "2"}
	stale := metav1.OwnerReference{APIVersion: "examples.millrace.dev/v1beta1", Kind: "Foo", Name: "foo", UID: "1"}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ci", Name: "p", OwnerReferences: []metav1.OwnerReference{stale, stranger},
	}}
	for range 2 { // again makes no second one
		if err := reconcile.SetControllerReference(foo, fooKind, pod); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]metav1.OwnerReference{stranger, want}, pod.OwnerReferences); diff != "" {
			t.Error(diff)
		}
	}
}

// Claim 14.
func TestSetControllerReferenceRefuses(t *testing.T) {
	yes := true
	taken := []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "9", Controller: &yes}}
	for name, c := range map[string]struct {
		owner, child metav1.ObjectMeta
		want         string
	}{
		"an owner that was never created": {
			metav1.ObjectMeta{Namespace: "ci", Name: "foo"}, metav1.ObjectMeta{Namespace: "ci", Name: "p"}, "has no UID",
		},
		"an owner in another namespace": {
			metav1.ObjectMeta{Namespace: "ci", Name: "foo", UID: "1"}, metav1.ObjectMeta{Namespace: "cd", Name: "p"}, "cannot own",
		},
		"an owner in a namespace of a child that has none": {
			metav1.ObjectMeta{Namespace: "ci", Name: "foo", UID: "1"}, metav1.ObjectMeta{Name: "p"}, "cannot own",
		},
		"a child of another controller": {
			metav1.ObjectMeta{Namespace: "ci", Name: "foo", UID: "1"}, metav1.ObjectMeta{Namespace: "ci", Name: "p", OwnerReferences: taken}, `controlled by ReplicaSet "rs"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := *c.child.DeepCopy()
			err := reconcile.SetControllerReference(&c.owner, fooKind, &c.child)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error = %v, want …%s…", err, c.want)
			}
			if diff := cmp.Diff(before, c.child); diff != "" {
				t.Errorf("the child was changed: %s", diff)
			}
		})
	}
}

// An owner without a namespace may own in any.
func TestAClusterScopedOwner(t *testing.T) {
	pod := &metav1.ObjectMeta{Namespace: "ci", Name: "p"}
	if err := reconcile.SetControllerReference(&metav1.ObjectMeta{Name: "foo", UID: "1"}, fooKind, pod); err != nil {
		t.Error(err)
	}
}

// Claim 15.
func TestFinalizers(t *testing.T) {
	const ours = "examples.millrace.dev/cleanup"
	shared := []string{"a", "b"}
	foo := &metav1.ObjectMeta{Finalizers: shared[:1]}
	if !reconcile.AddFinalizer(foo, ours) || reconcile.AddFinalizer(foo, ours) || !reconcile.HasFinalizer(foo, ours) {
		t.Errorf("after AddFinalizer twice: %v", foo.Finalizers)
	}
	if shared[1] != "b" {
		t.Error("AddFinalizer wrote into a slice that it was not given")
	}
	foo.Finalizers = append(foo.Finalizers, "z")
	held := foo.Finalizers
	if !reconcile.RemoveFinalizer(foo, ours) || reconcile.RemoveFinalizer(foo, ours) || reconcile.HasFinalizer(foo, ours) {
		t.Errorf("after RemoveFinalizer twice: %v", foo.Finalizers)
	}
	if diff := cmp.Diff([]string{"a", "z"}, foo.Finalizers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", ours, "z"}, held); diff != "" {
		t.Errorf("RemoveFinalizer wrote into the old slice: %s", diff)
	}
}
