package kubelet

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// A sidecar is an init container that goes on (KEP-753): what comes after it waits
// until it has started, it is started again whenever it ends, and it is stopped
// when the steps have ended.

func (k *Kubelet) startSidecar(m *machine, c *container) {
	if m.over() || m.stopping || c.running != nil {
		return
	}
	p := c.step.program
	c.begin()
	k.report(m)
	run := c.restarts
	same := func(do func()) func(*machine) {
		return func(m *machine) {
			if !m.over() && c.running != nil && c.restarts == run {
				do()
			}
		}
	}
	if p.fails(int(run)) && (p.exit != 0 || p.oom) {
		code, reason := int32(p.exit), "Error"
		if p.oom {
			code, reason = 137, oomKilled
		}
		k.later(m, p.sleep+20*time.Millisecond, p.sleep+200*time.Millisecond, "sidecar ends", same(func() { k.endSidecar(m, c, code, reason) }))
	}
	switch {
	case c.spec.StartupProbe == nil:
		k.later(m, 2*time.Millisecond, 15*time.Millisecond, "sidecar starts", same(func() { k.rise(m, c) }))
	case !p.never:
		// It is asked once a second.
		k.later(m, p.ready+50*time.Millisecond, p.ready+time.Second, "sidecar is ready", same(func() { k.rise(m, c) }))
	}
}

// rise is the success of a startup probe.
func (k *Kubelet) rise(m *machine, c *container) {
	c.started, c.up = true, true
	k.report(m)
	k.startNext(m)
}

// endSidecar ends one by itself. It is started again, at once for the first time,
// and then with ever longer pauses.
func (k *Kubelet) endSidecar(m *machine, c *container, code int32, reason string) {
	c.end(code, reason, "")
	if m.stopping {
		k.settle(m)
		k.report(m)
		return
	}
	k.report(m)
	pause := time.Duration(0)
	if c.restarts > 0 {
		pause = min(10*time.Second<<(c.restarts-1), 5*time.Minute)
	}
	k.later(m, 500*time.Millisecond, time.Second, "sidecar waits", func(m *machine) {
		if m.over() || m.stopping || c.ended == nil {
			return
		}
		if pause > 0 {
			c.last, c.ended = c.ended, nil
			c.holdup = &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff", Message: "back-off " + pause.String() + " restarting failed container=" + c.spec.Name}
			k.report(m)
		}
		k.later(m, pause, pause+time.Second, "sidecar again", func(m *machine) {
			if m.over() || m.stopping {
				return
			}
			if c.ended != nil {
				c.last = c.ended
			}
			c.restarts++
			k.startSidecar(m, c)
		})
	})
}

// stopSidecars has those that run end. One that does not listen is killed when its
// grace is over.
func (k *Kubelet) stopSidecars(m *machine) {
	if m.stopping {
		return
	}
	m.stopping = true
	for _, c := range m.init {
		if c.running == nil {
			continue
		}
		low, high, code := 10*time.Millisecond, 500*time.Millisecond, int32(143)
		if c.step.program.stubborn {
			low, high, code = 30*time.Second, 31*time.Second, 137
		}
		k.later(m, low, high, "sidecar stops", func(m *machine) {
			if !m.over() && c.running != nil {
				k.endSidecar(m, c, code, "Error")
			}
		})
	}
}
