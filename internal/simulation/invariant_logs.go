package simulation

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// logsStay is I5c: who looks for why a run has failed finds the pod. Which attempts were
// stopped is known in the end alone, for a pod goes before that is written down.
func logsStay(f *Facts, report report) Check {
	type removal struct {
		pod types.NamespacedName
		run types.UID
		by  apiserver.Request
	}
	var removals []removal
	return Check{
		See: func(e apiserver.Exchange) {
			if e.Resource != "pods" || e.Verb != "delete" || !e.Committed() || !program(e.Actor) || !firstStepRan(apiserver.As[corev1.Pod](e.Before)) {
				return
			}
			if owner := metav1.GetControllerOf(e.Before); owner != nil {
				removals = append(removals, removal{e.Key, owner.UID, e.Request})
			}
		},
		End: func() {
			for _, r := range removals {
				if run := f.Runs[r.run]; run != nil && !run.Gone && !run.stopped(r.pod.Name) {
					report("%s had begun, and was not stopped (its run: %s); yet there was %s", r.pod, condition(run.Last), r.by)
				}
			}
		},
	}
}

// stopped tells that the attempt of that pod was ended from outside: by a user, or since
// its time was over.
func (r *Run) stopped(pod string) bool {
	run := apiserver.As[crds.TaskRun](r.Last)
	return slices.ContainsFunc(append(slices.Clip(run.Status.RetriesStatus), run.Status), func(attempt crds.TaskRunStatus) bool {
		c, _ := attempt.Conditions.Get(crds.ConditionSucceeded)
		return attempt.PodName == pod && (c.Reason == cancelled || c.Reason == timedOut)
	})
}
