package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Mishap is what happens to a pod besides its work.
type Mishap struct {
	Kind  string        // one of Mishaps(); empty: nothing
	After time.Duration // since the pod was bound to its node
}

// A Risk is a mishap that a pod may have, how likely it is in a storm, and within
// which time after the pod is on its node.
type Risk struct {
	Kind   string
	Chance float64
	Within time.Duration
}

// Mishaps are the kinds that there are.
func Mishaps() []string {
	all := mishaps()
	kinds := make([]string, len(all))
	for i, m := range all {
		kinds[i] = m.kind
	}
	return kinds
}

// Risks are what may happen to a pod like this.
func Risks(pod *corev1.Pod) []Risk {
	var risks []Risk
	for _, m := range mishaps() {
		if m.fits == nil || m.fits(pod) {
			risks = append(risks, Risk{m.kind, m.chance, m.within})
		}
	}
	return risks
}

const (
	admissionReason = "UnexpectedAdmissionError"
	oomKilled       = "OOMKilled"
)

// A mishap is done by the agenda, to a machine that is there.
type mishap struct {
	kind   string
	chance float64
	within time.Duration
	fits   func(*corev1.Pod) bool // pods that it can happen to; nil: all
	do     func(*Kubelet, *machine)
}

func mishaps() []mishap {
	const (
		common, rare   = 0.03, 0.3 // rare are the pods that it can happen to
		anyTime, early = 12 * time.Second, 50 * time.Millisecond
	)
	return []mishap{
		{"deleted", common, anyTime, nil, func(k *Kubelet, m *machine) { k.delete(m) }},
		{"deleted before it starts", common, early, nil, func(k *Kubelet, m *machine) {
			if k.firstOf(m) && m.main[0].waiting() {
				m.main[0].holdup = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
				k.delete(m)
			}
		}},
		{"evicted", common, anyTime, nil, (*Kubelet).evict},
		{"image pull backs off", common, early, nil, func(k *Kubelet, m *machine) {
			k.failPull(m, "failed to pull and unpack image", 5*time.Second, 10*time.Second, func(c *container) {
				c.holdup = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}
				k.report(m)
			})
		}},
		{"image pull fails once", common, early, nil, func(k *Kubelet, m *machine) {
			k.failPull(m, "registry: 503", 2*time.Second, 8*time.Second, func(c *container) {
				c.holdup = nil
				k.startNext(m)
			})
		}},
		{"init container fails", rare, early, prepares, func(k *Kubelet, m *machine) { k.endInitBadly(m, 1, "Error") }},
		{"init container out of memory", rare, early, prepares, func(k *Kubelet, m *machine) { k.endInitBadly(m, 137, oomKilled) }},
		{"node knows no image volumes", common, early, mountsImage, func(k *Kubelet, m *machine) {
			for _, c := range m.main {
				if c.waiting() {
					c.holdup = &corev1.ContainerStateWaiting{Reason: "CreateContainerError", Message: "failed to generate container spec: mount has no source"}
				}
			}
			k.report(m)
		}},
		{"node lost", common, anyTime, nil, (*Kubelet).loseNode},
		{"out of memory", common, anyTime, nil, (*Kubelet).runOut},
		{"phase unknown for a while", common, anyTime, nil, (*Kubelet).loseSight},
		{"preempted", common, anyTime, nil, func(k *Kubelet, m *machine) {
			if m.over() {
				return
			}
			m.set(corev1.DisruptionTarget, corev1.PodReasonPreemptionByScheduler, "preempting to accommodate a higher priority pod")
			k.tell(m)
			k.delete(m)
		}},
		{"refused by the node", common, early, nil, func(k *Kubelet, m *machine) {
			if m.over() || !m.untouched() {
				return
			}
			k.fail(m, admissionReason, "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices, which is unexpected")
		}},
		{"sidecar out of memory", rare, anyTime, hasSidecar, (*Kubelet).runOutBeside},
		{"told to end at once", common, anyTime, nil, func(k *Kubelet, m *machine) {
			// What an administrator does that wants the logs.
			_, _ = k.cfg.Server.Actor("cluster").Patch("pods", "", m.key, `{"spec":{"activeDeadlineSeconds":1}}`)
		}},
	}
}

// runOut kills the entrypoint of the step that is at work: nothing tells the next one.
func (k *Kubelet) runOut(m *machine) {
	for _, c := range m.main {
		if c.turn && c.running != nil && !m.over() {
			c.end(137, oomKilled, "")
			k.settle(m)
			k.report(m)
			return
		}
	}
}

func (k *Kubelet) runOutBeside(m *machine) {
	for _, c := range m.init {
		if c.goesOn && c.running != nil && !m.over() {
			k.endSidecar(m, c, 137, oomKilled)
			return
		}
	}
}

// loseSight: the kubelet cannot tell what the pod is at.
func (k *Kubelet) loseSight(m *machine) {
	if m.over() || m.present() != corev1.PodRunning {
		return
	}
	m.unknown = true
	k.tell(m)
	k.later(m, 2*time.Second, 20*time.Second, "known", func(m *machine) {
		m.unknown = false
		k.report(m)
	})
}

func prepares(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.RestartPolicy == nil })
}

func hasSidecar(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool { return c.RestartPolicy != nil })
}

func mountsImage(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Image != nil })
}

// untouched: no container has ever run.
func (m *machine) untouched() bool {
	for _, c := range slices.Concat(m.init, m.main) {
		if !c.waiting() || c.restarts > 0 {
			return false
		}
	}
	return true
}

func (k *Kubelet) evict(m *machine) {
	if m.over() {
		return
	}
	m.kill(137, false)
	m.set(corev1.DisruptionTarget, "TerminationByKubelet", "The node was low on resource: memory.")
	k.fail(m, "Evicted", "The node was low on resource: memory.")
}

// failPull has the image of the first step not come, and lets then happen what does.
func (k *Kubelet) failPull(m *machine, why string, low, high time.Duration, then func(*container)) {
	c := m.main[0]
	if m.over() || !c.waiting() || c.holdup != nil {
		return
	}
	c.holdup = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: why}
	k.report(m)
	k.later(m, low, high, "pull again", func(m *machine) {
		if !m.over() {
			then(c)
		}
	})
}

func (k *Kubelet) endInitBadly(m *machine, code int32, reason string) {
	for _, c := range m.init {
		if !c.goesOn && c.ended == nil && !m.over() {
			if c.running == nil {
				c.begin()
			}
			k.endInit(m, c, code, reason)
			return
		}
	}
}

// loseNode: nobody hears of the node again, and after a while its pods are given up.
func (k *Kubelet) loseNode(m *machine) {
	if m.over() {
		return
	}
	m.lost = true
	k.later(m, 40*time.Second, 60*time.Second, "taint", func(m *machine) {
		m.set(corev1.DisruptionTarget, "DeletionByTaintManager", "Taint manager: deleting due to NoExecute taint")
		k.addCondition(m)
		k.delete(m)
		k.later(m, 30*time.Second, 60*time.Second, "collect", k.remove)
	})
}

// firstOf tells whether no other pod has had the name.
func (k *Kubelet) firstOf(m *machine) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.lives[m.key] == 1
}

// delete is somebody's deletion of the pod; the kubelet hears of it as of any.
func (k *Kubelet) delete(m *machine) {
	user := k.cfg.Server.Actor("cluster")
	_, _ = user.Delete("pods", m.key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &m.uid}})
}

// addCondition tells of conditions alone: of a lost node nobody knows more, and a
// pod that is on no node has nothing else to tell.
func (k *Kubelet) addCondition(m *machine) {
	conditions := slices.Clone(m.conditions)
	k.changeStatus(m, func(s *corev1.PodStatus) { s.Conditions = conditions })
}
