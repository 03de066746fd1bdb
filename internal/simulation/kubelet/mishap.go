package kubelet

import (
	"maps"
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

// Mishaps are the kinds that there are.
func Mishaps() []string { return slices.Sorted(maps.Keys(mishaps())) }

const admissionReason = "UnexpectedAdmissionError"

// mishaps do it. They are only called by the agenda, with a machine that is there.
//
//nolint:gocognit // a table of small functions
func mishaps() map[string]func(*Kubelet, *machine) {
	return map[string]func(*Kubelet, *machine){
		"evicted": func(k *Kubelet, m *machine) {
			if m.over() {
				return
			}
			m.kill(137, false)
			m.set(corev1.DisruptionTarget, "TerminationByKubelet", "The node was low on resource: memory.")
			k.fail(m, "Evicted", "The node was low on resource: memory.")
		},
		"preempted": func(k *Kubelet, m *machine) {
			if m.over() {
				return
			}
			m.set(corev1.DisruptionTarget, corev1.PodReasonPreemptionByScheduler, "preempting to accommodate a higher priority pod")
			k.tell(m)
			k.delete(m)
		},
		"deleted": func(k *Kubelet, m *machine) {
			k.delete(m)
		},
		"deleted before it starts": func(k *Kubelet, m *machine) {
			if k.firstOf(m) && m.main[0].running == nil && m.main[0].ended == nil {
				m.main[0].holdup = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
				k.delete(m)
			}
		},
		"refused by the node": func(k *Kubelet, m *machine) {
			if m.over() || m.main[0].running != nil || m.main[0].ended != nil {
				return
			}
			k.fail(m, admissionReason, "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices, which is unexpected")
		},
		"image pull backs off": func(k *Kubelet, m *machine) {
			c := m.main[0]
			if m.over() || c.running != nil || c.ended != nil {
				return
			}
			c.holdup = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "failed to pull and unpack image"}
			k.report(m)
			k.later(m, 5*time.Second, 10*time.Second, "backoff", func(m *machine) {
				c.holdup = &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}
				k.report(m)
			})
		},
		"image pull fails once": func(k *Kubelet, m *machine) {
			c := m.main[0]
			if m.over() || c.running != nil || c.ended != nil {
				return
			}
			c.holdup = &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "registry: 503"}
			k.report(m)
			k.later(m, 2*time.Second, 8*time.Second, "pulled", func(m *machine) {
				c.holdup = nil
				k.startNext(m)
			})
		},
		"out of memory": func(k *Kubelet, m *machine) {
			for _, c := range m.main {
				if c.turn && c.running != nil && !m.over() {
					c.end(137, "OOMKilled", "") // the entrypoint itself was killed
					k.settle(m)
					k.report(m)
					return
				}
			}
		},
		"node lost": func(k *Kubelet, m *machine) {
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
		},
		"phase unknown for a while": func(k *Kubelet, m *machine) {
			if m.over() || m.phase != corev1.PodRunning {
				return
			}
			m.phase = corev1.PodUnknown
			k.tell(m)
			k.later(m, 2*time.Second, 20*time.Second, "known", func(m *machine) {
				if m.phase == corev1.PodUnknown {
					m.phase = corev1.PodRunning
					k.settle(m)
					k.report(m)
				}
			})
		},
	}
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

// addCondition tells of the condition alone: of a lost node nobody knows more.
func (k *Kubelet) addCondition(m *machine) {
	conditions := slices.Clone(m.conditions)
	k.changeStatus(m, func(s *corev1.PodStatus) { s.Conditions = conditions })
}
