package simulation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// podLife is what the server has seen of a pod. Its name tells its attempt.
type podLife struct {
	key   types.NamespacedName
	run   types.UID
	owned bool            // by the run, yet
	live  bool            // its steps go on, and nobody has had it ended
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
	pod := apiserver.As[corev1.Pod](e.After)
	life := p[pod.UID]
	if life == nil {
		life = &podLife{key: e.Key, live: true, told: map[string]bool{}}
		if owner := metav1.GetControllerOf(pod); owner != nil {
			life.run = owner.UID
		}
		p[pod.UID] = life
	}
	owner := metav1.GetControllerOf(pod)
	life.owned = owner != nil && owner.UID == life.run
	life.live = pod.DeletionTimestamp == nil && !told(pod) && !stepsEnded(pod)
	life.begun = life.begun || firstStepRan(pod)
}

// note takes note of what the status of a run says of its pods.
func (p podLives) note(e apiserver.Exchange) {
	if e.Resource != "taskruns" || !e.Committed() || e.After == nil {
		return
	}
	run := apiserver.As[crds.TaskRun](e.After)
	for _, attempt := range append(slices.Clip(run.Status.RetriesStatus), run.Status) {
		for _, step := range attempt.Steps {
			if step.Running == nil && step.Terminated == nil {
				continue
			}
			for _, life := range p.of(run.UID) {
				life.noted = life.noted || life.key.Name == attempt.PodName
			}
		}
	}
}

// tell takes note of whom a watch tells that a first step has run.
func (p podLives) tell(e apiserver.Event) {
	if life := p[e.Object.GetUID()]; life != nil && e.Watch.Resource == "pods" && firstStepRan(apiserver.As[corev1.Pod](e.Object)) {
		life.told[e.Watch.Actor] = true
	}
}

// knownTo says whether a process can know that the pod's first step has begun.
func (l *podLife) knownTo(actor string) bool { return l.begun && (l.told[actor] || l.noted) }

// told to end: its time was cut to nothing.
func told(pod *corev1.Pod) bool {
	return pod.Spec.ActiveDeadlineSeconds != nil && *pod.Spec.ActiveDeadlineSeconds <= 1
}

// stepsEnded does not ask what sidecars do: the kubelet sees to them.
func stepsEnded(pod *corev1.Pod) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	ended := 0
	for _, s := range pod.Status.ContainerStatuses {
		if s.State.Terminated != nil {
			ended++
		}
	}
	return ended > 0 && ended == len(pod.Spec.Containers)
}

// firstStepRan does not count a step that the kubelet has given up before it began.
func firstStepRan(pod *corev1.Pod) bool {
	for _, s := range pod.Status.ContainerStatuses {
		if s.Name == pod.Spec.Containers[0].Name {
			return s.State.Running != nil || s.State.Terminated != nil && !s.State.Terminated.StartedAt.IsZero()
		}
	}
	return false
}

func (p podLives) of(run types.UID) []*podLife {
	var uids []types.UID
	for uid, life := range p {
		if life.run == run {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	all := make([]*podLife, len(uids))
	for i, uid := range uids {
		all[i] = p[uid]
	}
	return all
}

// born is the run for which an exchange makes a pod, or a claim, if it does.
func born(e apiserver.Exchange, resource string) (run types.UID, ok bool) {
	if e.Resource != resource || !e.Committed() || e.Before != nil || !program(e.Actor) {
		return "", false
	}
	for _, owner := range e.After.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller {
			return owner.UID, true
		}
	}
	return "", true
}

// unfit is why a pod of that name is none for the run as it is written down; empty
// if it is one. A creation may come late, for an attempt that is over; it is never
// early.
func (r *Run) unfit(pod string) string {
	if r == nil {
		return "and there is no run that it is for"
	}
	run := apiserver.As[crds.TaskRun](r.Last)
	for attempt := range len(run.Status.RetriesStatus) + 1 {
		if pod == podName(run.Name, attempt) {
			return ""
		}
	}
	return fmt.Sprintf("and the run is in attempt %d", len(run.Status.RetriesStatus))
}

// podName is that of an attempt's pod, for names as short as those of simulations.
func podName(run string, attempt int) string {
	if attempt == 0 {
		return run + "-pod"
	}
	return fmt.Sprint(run, "-pod-retry", attempt)
}

// onePod is I1. The pod of an earlier attempt is another pod, too.
func onePod(_ *Facts, report report) Check {
	lives := podLives{}
	return Check{See: func(e apiserver.Exchange) {
		if run, ok := born(e, "pods"); ok {
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
		run := apiserver.As[crds.TaskRun](e.After)
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
func nothingTwice(f *Facts, report report) Check {
	lives := podLives{}
	return Check{
		See: func(e apiserver.Exchange) {
			if run, ok := born(e, "pods"); ok {
				if why := f.Runs[run].unfit(e.Key.Name); why != "" {
					report("%s is made, %s", e.Key, why)
				}
				for _, earlier := range lives.of(run) {
					if earlier.key != e.Key {
						continue // another attempt's
					}
					if earlier.knownTo(e.Actor) {
						report("%s is made though the first step of an earlier pod of the run has begun (%s was told so: %t; the run's status says so: %t)", e.Key, e.Actor, earlier.told[e.Actor], earlier.noted)
						break
					}
				}
			}
			lives.see(e)
			lives.note(e)
		},
		Told: lives.tell,
	}
}
