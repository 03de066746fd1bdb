package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is one container in truth: waiting, running or ended.
type container struct {
	spec    corev1.Container
	step    step // what it is to do; of init containers, nothing
	running *metav1.Time
	ended   *corev1.ContainerStateTerminated
	holdup  *corev1.ContainerStateWaiting // why it does not start

	turn  bool        // its program has begun
	began metav1.Time // when
}

func containers(specs []corev1.Container) []*container {
	all := make([]*container, 0, len(specs))
	for _, spec := range specs {
		all = append(all, &container{spec: spec, step: parseStep(spec)})
	}
	return all
}

func (c *container) begin() {
	at := now()
	c.running = &at
}

func (c *container) end(code int32, reason, message string) {
	t := corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: now()}
	if c.running != nil {
		t.StartedAt = *c.running
	}
	c.running, c.ended = nil, &t
}

func (c *container) status() corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image}
	switch {
	case c.ended != nil:
		s.State.Terminated = c.ended
		s.ImageID = "sha256:" + c.spec.Image
	case c.running != nil:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: *c.running}
		s.ImageID = "sha256:" + c.spec.Image
		s.Ready = true
	case c.holdup != nil:
		s.State.Waiting = c.holdup
	default:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	return s
}

// kill ends all containers that run. If the entrypoint of a step has time to, it
// tells of it.
func (m *machine) kill(code int32, tells bool) {
	for i, c := range m.main {
		switch {
		case c.running == nil:
		case !tells:
			c.end(code, "Error", "")
		case c.turn:
			c.end(code, "Error", c.step.message(c.began, outcome{ran: true, code: int(code)}))
			m.posted[i] = failed
		default:
			c.end(code, "Error", c.step.message(now(), outcome{code: int(code), reason: "Skipped"}))
		}
	}
	for _, c := range m.init {
		if c.running != nil {
			c.end(code, "Error", "")
		}
	}
}
