package taskrun

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// A replica that does not lead hears of pods and runs, and reconciles none. When it
// takes over, it must know of a run without a pod that its steps have begun; and it
// must not remember the runs of weeks.
func TestWhoDoesNotReconcileRemembersWhatBegan(t *testing.T) {
	yes := true
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "u1"}}
	key := types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ci", Name: podName(run),
			OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: run.Name, UID: run.UID, Controller: &yes}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "step-a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
	var r Reconciler
	r.PodGone(pod, true)
	o := &observation{Run: run}
	if r.witness.look(key, o); !o.Witnessed {
		t.Error("the pod had begun, and nobody remembers")
	}
	r.RunEnded(key)
	if len(r.witness.seen) != 0 {
		t.Errorf("a run that has ended is remembered: %v", r.witness.seen)
	}
}

// The cache of runs may be behind that of pods by as long as a list takes: a run that
// is not in it when its pod has gone may come yet (seed 420). Who never comes is
// remembered for a while, and makes room for others.
func TestARunThatNobodyKnowsYetIsRemembered(t *testing.T) {
	yes := true
	begun := func(name string) (types.NamespacedName, *crds.TaskRun, *corev1.Pod) {
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: name, UID: types.UID("uid-" + name)}}
		return types.NamespacedName{Namespace: "ci", Name: name}, run, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ci", Name: podName(run),
				OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: name, UID: run.UID, Controller: &yes}},
			},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "step-a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
		}
	}
	var r Reconciler
	late, lateRun, latePod := begun("late")
	_, _, gone := begun("gone")
	r.PodGone(gone, false)
	r.PodGone(latePod, false)
	r.witness.look(late, nil) // a reconcile that finds no run does not forget it either
	o := &observation{Run: lateRun}
	if r.witness.look(late, o); !o.Witnessed {
		t.Error("the pod had begun, and nobody remembers")
	}
	for i := range mostUnknown {
		_, _, pod := begun(fmt.Sprint(i))
		r.PodGone(pod, false)
	}
	if n := len(r.witness.seen); n > mostUnknown+1 {
		t.Errorf("%d runs are remembered that nobody knows", n)
	}
	if r.witness.look(late, o); !o.Witnessed {
		t.Error("a run that is known by now made room for others")
	}
	if _, seen := r.witness.seen[types.NamespacedName{Namespace: "ci", Name: "gone"}]; seen {
		t.Error("one that never came did not")
	}
}

// A run that was known for a while, and is noted again, has its turn from then on.
func TestWhoIsNotedAgainIsOneOfTheLast(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: name, Labels: map[string]string{labelTaskRun: name, labelTaskRunUID: "uid-" + name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
			Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "step-a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
		}
	}
	var r Reconciler
	key := types.NamespacedName{Namespace: "ci", Name: "again"}
	r.PodGone(pod("again"), false)
	r.PodGone(pod("0"), false)
	r.witness.look(key, &observation{Run: &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "again", UID: "uid-again"}}})
	r.PodGone(pod("again"), false)
	for i := range mostUnknown { // the first one is noted, and makes room for the last one
		r.PodGone(pod(fmt.Sprint(i)), false)
	}
	if _, seen := r.witness.seen[key]; !seen || len(r.witness.seen) != mostUnknown {
		t.Errorf("it stays: %t, and %d are remembered", seen, len(r.witness.seen))
	}
	r.PodGone(pod("one more"), false)
	if _, seen := r.witness.seen[key]; seen || len(r.witness.seen) != mostUnknown {
		t.Errorf("it is still there: %t, and %d are remembered", seen, len(r.witness.seen))
	}
}

// A call that creates the pod hangs until the reconcile is given up; meanwhile the
// pod begins, and is deleted, and the watch hears only the first of these. The next
// reconcile is in doubt and asks the server, which has no such pod. That it had begun
// is in the cache.
func TestWhatTheCacheHasSeenBeginHasBegun(t *testing.T) {
	yes := true
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "u1"}}
	key := types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
	cached := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ci", Name: podName(run),
			OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: run.Name, UID: run.UID, Controller: &yes}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "step-a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
	}
	r := New(Config{}, Parts{
		Client: podless{},
		Caches: Caches{Pod: func(types.NamespacedName) (corev1.Pod, bool, error) { return cached, true, nil }},
	})
	o := &observation{Run: run}
	if err := r.observePod(t.Context(), true, o); err != nil || o.Pod != nil {
		t.Fatalf("observed %v: %v", o.Pod, err)
	}
	if r.witness.look(key, o); !o.Witnessed {
		t.Error("the pod that had begun would be made again")
	}
}

// podless is a server that has no pods.
type podless struct{ Client }

func (podless) GetPod(_ context.Context, key types.NamespacedName) (*corev1.Pod, error) {
	return nil, apierrors.NewNotFound(corev1.Resource("pods"), key.Name)
}
