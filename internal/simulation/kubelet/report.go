package kubelet

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"millrace/internal/simulation/apiserver"
)

// report has the API server told of the machine soon: of all that has happened by
// then.
func (k *Kubelet) report(m *machine) {
	if m.reported {
		return
	}
	m.reported = true
	k.later(m, 2*time.Millisecond, 150*time.Millisecond, "report", func(m *machine) {
		m.reported = false
		if !m.lost {
			k.tell(m)
		}
	})
}

func (k *Kubelet) tell(m *machine) {
	k.changeStatus(m, m.describe)
}

func (k *Kubelet) changeStatus(m *machine, change func(*corev1.PodStatus)) {
	// A pod that was deleted has no status to write; that is no error.
	_, _ = apiserver.Change(k.actor, "pods", "status", m.key, func(pod *corev1.Pod) {
		if pod.UID == m.uid {
			change(&pod.Status)
		}
	})
}

// describe writes the truth into a status.
func (m *machine) describe(s *corev1.PodStatus) {
	s.Phase, s.Reason, s.Message = m.present(), m.reason, m.message
	if !m.started.IsZero() {
		s.StartTime = &m.started
	}
	s.Conditions = slices.Clone(m.conditions)
	s.ContainerStatuses, s.InitContainerStatuses = nil, nil
	if m.started.IsZero() {
		return
	}
	for _, c := range m.init {
		s.InitContainerStatuses = append(s.InitContainerStatuses, c.status())
	}
	// Sorted by name: the kubelet has an order of its own.
	for _, c := range m.main {
		s.ContainerStatuses = append(s.ContainerStatuses, c.status())
	}
	slices.SortFunc(s.ContainerStatuses, func(a, b corev1.ContainerStatus) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	if m.reason == admissionReason {
		s.ContainerStatuses, s.InitContainerStatuses = nil, nil
	}
	skew(s, m.clock)
}

// set makes a condition of the pod true.
func (m *machine) set(kind corev1.PodConditionType, reason, message string) {
	m.put(corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now()})
}

func (m *machine) put(c corev1.PodCondition) {
	i := slices.IndexFunc(m.conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type })
	if i < 0 {
		m.conditions = append(m.conditions, c)
		return
	}
	if m.conditions[i].Status == c.Status {
		c.LastTransitionTime = m.conditions[i].LastTransitionTime
	}
	m.conditions[i] = c
}
