package taskrun

import (
	"context"
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
	r.PodGone(pod)
	o := &observation{Run: run}
	if r.witness.look(key, o); !o.Witnessed {
		t.Error("the pod had begun, and nobody remembers")
	}
	r.RunEnded(key)
	if len(r.witness.seen) != 0 {
		t.Errorf("a run that has ended is remembered: %v", r.witness.seen)
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
