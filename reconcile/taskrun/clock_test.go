package taskrun

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/reconcile"
)

// A run lasts as long as it may by one clock, this machine's, though the server's
// be an hour off.
func TestAServersClockDoesNotMakeTheTimeOfARun(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, off := range []time.Duration{-time.Hour, -time.Second, 30 * time.Second, time.Hour} {
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "u1", CreationTimestamp: metav1.NewTime(now.Add(off))}}
		d := decision{observation: observation{Run: run}, now: now}
		if late := d.startTime().Sub(now); late < 0 || late > reconcile.MaxSkew {
			t.Errorf("the server is %s ahead: the run starts in %s", off, late)
		}

		// A run that has waited for quota has no start until its pod is seen.
		waited := now.Add(-20 * time.Second)
		run.Status.Conditions.Set(ongoing(crds.TaskRunReasonExceededResourceQuota, "full"), waited)
		d.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: podName(run), CreationTimestamp: metav1.NewTime(now.Add(off))}}
		if at := d.adopt().StartTime; at.Time.Before(waited) || at.After(now) {
			t.Errorf("the server is %s ahead: a run that waited for quota until now starts at %s", off, at)
		}
	}
}

// Somebody changes the owner of a pod before its step begins: the pod is not the
// run's any more, and goes. But its step has begun, for this run.
func TestAPodThatLostItsOwnerHasBegunAllTheSame(t *testing.T) {
	yes := true
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "u1"}}
	for what, owners := range map[string][]metav1.OwnerReference{
		"no owner":   nil,
		"a stranger": {{Kind: crds.KindTaskRun, Name: run.Name, UID: "u9", Controller: &yes}},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "ci", Name: podName(run), OwnerReferences: owners,
				Labels: map[string]string{labelTaskRun: run.Name, labelTaskRunUID: string(run.UID)},
			},
			Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "step-a"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "step-a", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}},
		}
		var seen, gone Reconciler
		key := types.NamespacedName{Namespace: run.Namespace, Name: run.Name}
		seen.witness.look(key, &observation{Run: run, Pod: pod})
		gone.PodGone(pod, true)
		for how, r := range map[string]*Reconciler{"was looked at": &seen, "was told to be gone": &gone} {
			o := &observation{Run: run}
			if r.witness.look(key, o); !o.Witnessed {
				t.Errorf("%s: the pod %s, and nobody remembers that it had begun", what, how)
			}
		}
	}
}

// The second attempt has waited for quota. It does not begin before the first ended.
func TestAnAttemptBeginsAfterTheOneBefore(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: "build", UID: "u1"}}
	run.Status.Conditions.Set(ongoing(crds.TaskRunReasonStarted, ""), now.Add(-time.Minute))
	ended := metav1.NewTime(now.Add(-30 * time.Second))
	run.Status.RetriesStatus = []crds.TaskRunStatus{{}}
	run.Status.RetriesStatus[0].CompletionTime = &ended
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ci", Name: podName(run), CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	d := decision{observation: observation{Run: run, Pod: pod}, now: now}
	if at := d.adopt().StartTime; at.Before(&ended) {
		t.Errorf("it began at %s, and the first ended at %s", at, ended)
	}
}

// A server that is an hour ahead has made the pod in an hour, and the run says all the
// same what it waits for.
func TestWhatAPodWaitsForIsToldByThisClock(t *testing.T) {
	now := time.Unix(10_000, 0)
	run := &crds.TaskRun{}
	run.Status.StartTime = &metav1.Time{Time: now.Add(-time.Minute)}
	for made, want := range map[time.Time]time.Time{
		now.Add(-time.Second):               now.Add(7 * time.Second),
		now.Add(time.Hour - 59*time.Second): now.Add(-52 * time.Second),
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(made)}}
		d := decision{observation: observation{Run: run, Pod: pod}, now: now}
		if got := d.explainAt(); !got.Equal(want) {
			t.Errorf("made at %s: told at %s, want %s", made, got, want)
		}
	}
}
