package taskrun

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// A run was deleted and another is made under its name at once, and the garbage collector
// takes its time over the pod of the first. Nothing is asked for while that is in the way,
// and one thing is written, for who waits; when it goes the run begins, and costs from then
// on what it always does.
func TestAPodInTheWayCostsOneWrite(t *testing.T) {
	for _, c := range []struct {
		goes time.Duration
		says string
	}{
		{5 * time.Second, ""},
		{time.Minute, "patch taskrun/status"},
	} {
		t.Run(c.goes.String(), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { inTheWay(t, c.goes, c.says) }) })
	}
}

func inTheWay(t *testing.T, goes time.Duration, says string) {
	t.Helper()
	c := newCluster(t, oneStep)
	yes := true
	first := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "run-pod", Namespace: "default", UID: "first",
			Labels:          map[string]string{labelTaskRun: "run", labelTaskRunUID: "before"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: crds.APIVersion, Kind: crds.KindTaskRun, Name: "run", UID: "before", Controller: &yes}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
		Status: ended(0),
	}
	c.server.setPod(first)
	for until := time.Now().Add(goes); time.Now().Before(until); time.Sleep(250 * time.Millisecond) {
		c.settle(nil)
	}
	if got := verbs(c.server.calls); got != says {
		t.Fatalf("while a pod is in the way it costs %q, and not %q", got, says)
	}
	delete(c.server.pods, first.Name)
	begun := len(c.server.calls)
	c.settle(nil)
	c.kubelet(ended(0))
	c.settle(nil)
	if got, want := verbs(c.server.calls[begun:]), "patch taskrun/status, create pod, patch taskrun/status"; got != want {
		t.Errorf("when it has gone it costs %q, and not %q", got, want)
	}
	if pod := c.pod(); pod == nil || pod.UID == first.UID || c.server.run.Succeeded().Status != corev1.ConditionTrue {
		t.Errorf("the run says %v, of pod %v", c.server.run.Succeeded(), pod)
	}
}
