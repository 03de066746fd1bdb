package simulation

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// podLife is what the server has seen of a pod.
type podLife struct {
	key   types.NamespacedName
	run   types.UID
	live  bool
	begun bool            // its first step was reported to have run
	told  map[string]bool // whom a watch has told so
	noted bool            // the run's status says so
}

// podLives follows the pods of runs.
type podLives map[types.UID]*podLife

func (p podLives) see(e apiserver.Exchange) {
	if e.Resource != "pods" || !e.Committed() {
		return
	}
	if e.After == nil {
		if life := p[e.Before.GetUID()]; life != nil {
			life.live = false
		}
		return
	}
	pod := apiserver.Into[corev1.Pod](e.After)
	life := p[pod.UID]
	if life == nil {
		life = &podLife{key: e.Key, live: true, told: map[string]bool{}}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			life.run = owner.UID
		}
		p[pod.UID] = life
	}
	life.live = pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
	life.begun = life.begun || firstStepRan(pod)
}

// note takes note of what the status of a run says of its pod.
func (p podLives) note(e apiserver.Exchange) {
	if e.Resource != "taskruns" || !e.Committed() || e.After == nil {
		return
	}
	run := apiserver.Into[crds.TaskRun](e.After)
	for _, step := range run.Status.Steps {
		if step.Running == nil && step.Terminated == nil {
			continue
		}
		for _, life := range p.of(run.UID) {
			life.noted = life.noted || life.key.Name == run.Status.PodName
		}
	}
}

func firstStepRan(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == pod.Spec.Containers[0].Name {
			return s.State.Running != nil || s.State.Terminated != nil
		}
	}
	return false
}

func (p podLives) of(run types.UID) []*podLife {
	var all []*podLife
	for _, uid := range slices.Sorted(maps.Keys(p)) {
		if p[uid].run == run {
			all = append(all, p[uid])
		}
	}
	return all
}

// born is the pod that an exchange makes for a run, if it does.
func born(e apiserver.Exchange) (run types.UID, ok bool) {
	if e.Resource != "pods" || !e.Committed() || e.Before != nil || !program(e.Actor) {
		return "", false
	}
	owner := metav1.GetControllerOf(e.After)
	if owner == nil {
		return "", true
	}
	return owner.UID, true
}

// onePod is I1.
func onePod(_ *Facts, report report) Check {
	lives := podLives{}
	return Check{See: func(e apiserver.Exchange) {
		if run, ok := born(e); ok {
			for _, other := range lives.of(run) {
				if other.live {
					report("%s is made while %s of the same run lives", e.Key, other.key)
				}
			}
		}
		lives.see(e)
		if e.Resource != "taskruns" || !program(e.Actor) || !e.Committed() || e.After == nil {
			return
		}
		run := apiserver.Into[crds.TaskRun](e.After)
		if len(run.Status.Steps) == 0 {
			return
		}
		for _, life := range lives {
			if life.run == run.UID && life.key.Name == run.Status.PodName {
				return
			}
		}
		report("%s tells of the steps of pod %q, which was never its own", e.Key, run.Status.PodName)
	}}
}

// nothingTwice is I3. What the process was not told, and no status says, it cannot
// know: see docs/decisions/0014.
func nothingTwice(_ *Facts, report report) Check {
	lives := podLives{}
	return Check{
		See: func(e apiserver.Exchange) {
			if run, ok := born(e); ok {
				if run == "" {
					report("%s is made for no run", e.Key)
				}
				for _, earlier := range lives.of(run) {
					if told := earlier.told[e.Actor]; earlier.begun && (told || earlier.noted) {
						report("%s is made though the first step of an earlier pod of the run has begun (%s was told so: %t; the run's status says so: %t)", e.Key, e.Actor, told, earlier.noted)
						break
					}
				}
			}
			lives.see(e)
			lives.note(e)
		},
		Told: func(e apiserver.Event) {
			life := lives[e.Object.GetUID()]
			if life != nil && e.Watch.Resource == "pods" && firstStepRan(apiserver.Into[corev1.Pod](e.Object)) {
				life.told[e.Watch.Actor] = true
			}
		},
	}
}
