package simulation

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// keptPod is a workload: a run is cancelled where the administrator wants the pods of
// cancelled runs kept, for their logs.
func keptPod() Workload {
	return Workload{Name: "cancel of a run whose pod is kept", judge: isStoppedAndKept, Users: func(w *World) {
		w.account("blue")
		w.flags(map[string]string{"keep-pod-on-cancel": "true"})
		w.creates(soon, "blue", "a", longRun)
		w.cancels(soon+45*time.Second, "blue", "a") // a restart and what it has missed are over
	}}
}

// longRun is one that only a user ends.
func longRun(draw) (crds.TaskRunSpec, Expect) {
	return embedded(stepOf("long", sleeping(30*time.Minute))), Expect{Reason: cancelled, Work: 5 * time.Second}
}

// isStoppedAndKept asks for both in the end: the run is cancelled, and its pod is there,
// which the kubelet has ended since its time was cut to nothing.
func isStoppedAndKept(f *Facts, report report) Check {
	key := types.NamespacedName{Namespace: "blue", Name: "a-pod"}
	var last *apiserver.Object
	return Check{
		See: func(e apiserver.Exchange) {
			if e.Resource == "pods" && e.Key == key && e.Committed() {
				last = e.After
			}
		},
		End: func() {
			for _, run := range f.Runs {
				if c := apiserver.As[crds.TaskRun](run.Last).Succeeded(); c.Reason != cancelled {
					report("%s was cancelled, and ended with %q", run.Key, c.Reason)
				}
			}
			if len(f.Runs) > 0 && last == nil {
				report("%s was to be kept, and is not there", key)
			}
			if last == nil {
				return
			}
			pod := apiserver.As[corev1.Pod](last)
			if s := pod.Status; s.Phase != corev1.PodFailed || s.Reason != "DeadlineExceeded" || pod.DeletionTimestamp != nil {
				report("%s was to be stopped and kept, and is %s (%s)", key, s.Phase, s.Reason)
			}
		},
	}
}
