package taskrun

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
)

// collecting is a pod whose one step has ended well.
func collecting(t *testing.T, collector corev1.ContainerState) *observation {
	t.Helper()
	run := parseRun(t, "taskSpec: {results: [{name: r}], steps: [{name: a, image: x, script: x}]}")
	run.UID, run.Status.TaskSpec = "u", run.Spec.TaskSpec
	yes, now := true, metav1.Now()
	run.Status.StartTime = &now
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "run-pod", OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: "run", UID: "u", Controller: &yes}}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}, {Name: collectorName}}},
	}
	pod.Status = ended(0)
	pod.Status.Phase = corev1.PodFailed
	pod.Status.ContainerStatuses[0].State.Terminated.FinishedAt = now
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: collectorName, State: collector})
	return &observation{Run: run, Pod: pod, ResultsLog: []byte{}}
}

func conclusion(t *testing.T, p Plan) crds.Condition {
	t.Helper()
	for _, action := range p.Actions {
		if patch, ok := action.(PatchStatus); ok {
			c, _ := patch.Status.Conditions.Get(crds.ConditionSucceeded)
			return c
		}
	}
	t.Fatal(p)
	return crds.Condition{}
}

// Results that were left and then lost are no success: what takes them would go on
// with nothing.
func TestLostResultsAreNoSuccess(t *testing.T) {
	for want, collector := range map[string]corev1.ContainerState{
		`SidecarOOM: the results are lost: "sidecar-tekton-log-results" exited with code 137: OOMKilled`: {Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}},
		`SidecarFailed: the results are lost: "sidecar-tekton-log-results" exited with code 1: Error`:    {Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error"}},
		`SidecarFailed: the results are lost: the pod ended before "sidecar-tekton-log-results" did`:     {Running: &corev1.ContainerStateRunning{}},
		"Succeeded: All Steps have completed executing":                                                  {Terminated: &corev1.ContainerStateTerminated{}},
	} {
		c := conclusion(t, plan(*collecting(t, collector), time.Now(), Config{}))
		if got := c.Reason + ": " + c.Message; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A log that is on a node which is gone is not waited for without end.
func TestLogThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := collecting(t, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
		o.ResultsLog = nil
		rec := New(Config{}, Parts{Client: noLog{}})
		if err := rec.readLog(t.Context(), o); err == nil || o.ResultsLog != nil {
			t.Error("not tried again")
		}
		time.Sleep(logPatience)
		if err := rec.readLog(t.Context(), o); err != nil {
			t.Error(err)
		}
		c := conclusion(t, plan(*o, time.Now(), Config{}))
		if c.Reason != "SidecarFailed" || !strings.HasPrefix(c.Message, "the results are lost: the log of \"sidecar-tekton-log-results\" cannot be read: ") {
			t.Error(c)
		}
	})
}

type noLog struct{ Client }

func (noLog) ReadLog(context.Context, types.NamespacedName, string, int64) ([]byte, error) {
	return nil, errors.New("dial tcp: no route to host")
}

// The results may be too large for a run whose steps it has never told of: they were quick.
func TestResultsTooLargeForTheRunOfQuickSteps(t *testing.T) {
	o := collecting(t, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}})
	o.Witnessed, o.Unstorable = true, errors.New("etcdserver: request is too large")
	if c := conclusion(t, plan(*o, time.Now(), Config{})); c.Reason != "TaskRunResultLargerThanAllowedLimit" {
		t.Error(c)
	}
}
