package taskrun

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile"
)

// Somebody has taken the label off a pod that has not begun, so that the cache has it
// no more. The run that is cancelled then takes its pod with it all the same.
func TestACancelledRunLooksForAPodThatTheCacheHasNot(t *testing.T) {
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "u1"}}
	run.Status.TaskSpec = &crds.TaskSpec{}
	run.Spec.Status = crds.TaskRunSpecStatusCancelled
	r := New(Config{}, Parts{
		Client: stripped{run: run, pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: podName(run)}}},
		Gate:   reconcile.NewGate(),
		Caches: Caches{Pod: func(types.NamespacedName) (corev1.Pod, bool, error) { return corev1.Pod{}, false, nil }},
	})
	o := &observation{Run: run}
	if err := r.makeSure(t.Context(), keyOf(run), o); err != nil || o.Pod == nil || !o.PodUncached {
		t.Errorf("the pod is %v: %v", o.Pod, err)
	}
}

// stripped is a server that has a run, and its pod without labels.
type stripped struct {
	Client

	run *crds.TaskRun
	pod *corev1.Pod
}

func (s stripped) GetTaskRun(context.Context, types.NamespacedName) (*crds.TaskRun, error) {
	return s.run, nil
}

func (s stripped) GetPod(context.Context, types.NamespacedName) (*corev1.Pod, error) {
	return s.pod, nil
}
