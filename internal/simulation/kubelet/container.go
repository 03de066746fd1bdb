package kubelet

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// container is one container in truth: waiting, running or ended.
type container struct {
	spec    corev1.Container
	goesOn  bool // an init container that runs beside the others: a sidecar
	step    step // what it is to do; of other init containers, nothing
	running *metav1.Time
	ended   *corev1.ContainerStateTerminated
	holdup  *corev1.ContainerStateWaiting // why it does not start

	turn  bool              // its program has begun
	began metav1.Time       // when
	left  map[string]string // the step's own results

	// Of a sidecar:
	started  bool // once it was; those after it need not wait
	up       bool // it runs, and its startup probe has succeeded
	restarts int32
	last     *corev1.ContainerStateTerminated // how it ended before
}

func containers(specs []corev1.Container) []*container {
	all := make([]*container, 0, len(specs))
	for _, spec := range specs {
		c := &container{spec: spec, step: parseStep(spec)}
		c.goesOn = spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
		all = append(all, c)
	}
	return all
}

// waiting: it has neither started nor ended.
func (c *container) waiting() bool { return c.running == nil && c.ended == nil }

func (c *container) begin() {
	at := now()
	c.running, c.ended, c.holdup = &at, nil, nil
}

func (c *container) end(code int32, reason, message string) {
	t := corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: now()}
	if c.running != nil {
		t.StartedAt = *c.running
	}
	c.running, c.ended, c.up = nil, &t, false
}

// lose is what a kubelet says of a container that its pod will never have.
func (c *container) lose() {
	c.ended = &corev1.ContainerStateTerminated{
		ExitCode: 137, Reason: "ContainerStatusUnknown", Message: "The container could not be located when the pod was terminated",
	}
}

func (c *container) status() corev1.ContainerStatus {
	s := corev1.ContainerStatus{Name: c.spec.Name, Image: c.spec.Image, RestartCount: c.restarts}
	if c.last != nil {
		s.LastTerminationState.Terminated = c.last
	}
	started := c.running != nil && (c.up || !c.goesOn)
	s.Started = &started
	switch {
	case c.ended != nil:
		s.State.Terminated = c.ended
	case c.running != nil:
		s.State.Running = &corev1.ContainerStateRunning{StartedAt: *c.running}
		s.Ready = started
	case c.holdup != nil:
		s.State.Waiting = c.holdup
	default:
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: "PodInitializing"}
	}
	if s.State.Waiting == nil {
		s.ImageID = "sha256:" + c.spec.Image
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

// close ends a pod of which nothing runs any more. What has not started never
// will; a kubelet says so of each container that was to start next, but not of
// steps behind an init container that has not ended well.
func (m *machine) close() {
	m.ended = true
	m.phase = corev1.PodSucceeded
	initialized := m.initialized()
	for _, c := range m.main {
		if c.ended == nil || c.ended.ExitCode != 0 {
			m.phase = corev1.PodFailed
		}
		if c.ended == nil && initialized {
			c.lose()
		}
	}
}

// initialized: the steps could start.
func (m *machine) initialized() bool {
	for _, c := range m.init {
		if c.goesOn && !c.started || !c.goesOn && (c.ended == nil || c.ended.ExitCode != 0) {
			return false
		}
	}
	return true
}

// present is the phase that the pod is in.
func (m *machine) present() corev1.PodPhase {
	switch {
	case m.ended:
		return m.phase
	case m.unknown:
		return corev1.PodUnknown
	}
	for _, c := range m.main {
		if c.waiting() {
			return corev1.PodPending // though others run
		}
	}
	return corev1.PodRunning
}
