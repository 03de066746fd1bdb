package kubelet

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/turnstile"
)

// Config of a Kubelet. Server and Agenda are needed.
type Config struct {
	Server *apiserver.Server
	Agenda *turnstile.Agenda
	Seed   turnstile.Seed
	// Mishap says what happens to a pod besides its work, when it is bound to a
	// node. Default: nothing.
	Mishap func(*corev1.Pod) Mishap
	// Clock says what the clock of a pod's node is ahead of the time. Default: it is
	// right.
	Clock func(*corev1.Pod) time.Duration
}

const actorName = "kubelet"

// Kubelet is the scheduler and all kubelets. Its methods may be called from
// anywhere; its work is done by the agenda.
type Kubelet struct {
	cfg   Config
	actor apiserver.Actor

	mu       sync.Mutex
	machines map[types.UID]*machine
	lives    map[types.NamespacedName]int // pods that had the name
	claims   map[types.NamespacedName]*claim
}

// New makes a kubelet that knows no pods.
func New(cfg Config) *Kubelet {
	if cfg.Mishap == nil {
		cfg.Mishap = func(*corev1.Pod) Mishap { return Mishap{} }
	}
	if cfg.Clock == nil {
		cfg.Clock = func(*corev1.Pod) time.Duration { return 0 }
	}
	return &Kubelet{
		cfg: cfg, actor: cfg.Server.Actor(actorName),
		machines: map[types.UID]*machine{}, lives: map[types.NamespacedName]int{}, claims: map[types.NamespacedName]*claim{},
	}
}

// machine is one pod, as it is in truth. It belongs to the agenda's goroutine
// once it is bound.
type machine struct {
	key  types.NamespacedName
	uid  types.UID
	name string // for draws: no other pod has it
	spec corev1.PodSpec

	unbound    bool // it waits for a claim
	started    metav1.Time
	init, main []*container
	phase      corev1.PodPhase // once it has ended
	unknown    bool            // the phase is, for now
	reason     string
	message    string
	conditions []corev1.PodCondition
	posted     []post // what each step has told the next one

	ended    bool // nothing more happens in it
	killing  bool
	stopping bool          // its steps have ended, and its sidecars are told to
	lost     bool          // its node is: nobody is told, nothing happens
	clock    time.Duration // what its node's is ahead
	reported bool          // a report is on its way
	draws    int
}

// Saw is to be called with each exchange of the server. It does nothing itself.
func (k *Kubelet) Saw(e apiserver.Exchange) {
	if e.Resource == "persistentvolumeclaims" && e.Committed() {
		k.sawClaim(e)
	}
	if e.Resource != "pods" || !e.Committed() || e.Actor == actorName {
		return
	}
	switch {
	case e.Before == nil:
		k.bear(e.After)
	case e.After == nil:
		k.forget(e.Before.GetUID())
	case e.After.GetDeletionTimestamp() != nil && e.Before.GetDeletionTimestamp() == nil:
		k.with(e.After.GetUID(), func(m *machine) { k.later(m, 5*time.Millisecond, 400*time.Millisecond, "terminate", k.terminate) })
	default:
		before, after := deadline(e.Before), deadline(e.After)
		if before != after && after > 0 {
			k.with(e.After.GetUID(), func(m *machine) { k.awaitDeadline(m, after) })
		}
	}
}

func deadline(o *apiserver.Object) time.Duration {
	pod := apiserver.As[corev1.Pod](o)
	if d := pod.Spec.ActiveDeadlineSeconds; d != nil {
		return time.Duration(*d) * time.Second
	}
	return 0
}

func (k *Kubelet) bear(o *apiserver.Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	pod := apiserver.As[corev1.Pod](o)
	key := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	k.lives[key]++
	m := &machine{
		key: key, uid: pod.UID, name: fmt.Sprint(key, "/", k.lives[key]), spec: pod.Spec,
		posted: make([]post, len(pod.Spec.Containers)),
	}
	m.init, m.main = containers(pod.Spec.InitContainers), containers(pod.Spec.Containers)
	k.machines[pod.UID] = m
	k.laterLocked(m, 10*time.Millisecond, 300*time.Millisecond, "bind", k.bind)
}

// with does something with a machine that is there.
func (k *Kubelet) with(uid types.UID, do func(*machine)) {
	k.mu.Lock()
	m := k.machines[uid]
	k.mu.Unlock()
	if m != nil {
		do(m)
	}
}

func (k *Kubelet) forget(uid types.UID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.machines, uid)
}

// later has a machine do something after a while, if it is still there.
func (k *Kubelet) later(m *machine, low, high time.Duration, what string, do func(*machine)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.laterLocked(m, low, high, what, do)
}

func (k *Kubelet) laterLocked(m *machine, low, high time.Duration, what string, do func(*machine)) {
	m.draws++
	wait := k.cfg.Seed.Between(low, high, "kubelet", m.name, what, fmt.Sprint(m.draws))
	k.cfg.Agenda.After(wait, func() { k.with(m.uid, do) })
}

// bind puts the pod on a node, if its claims are bound.
func (k *Kubelet) bind(m *machine) {
	if !m.started.IsZero() || !k.claimsBound(m) {
		return
	}
	gone := false
	_, err := apiserver.Change(k.actor, "pods", "", m.key, func(pod *corev1.Pod) {
		if gone = pod.UID != m.uid || pod.DeletionTimestamp != nil; !gone {
			pod.Spec.NodeName = "node-1"
		}
	})
	if err != nil || gone {
		return
	}
	m.started = now()
	m.set(corev1.PodScheduled, "", "")
	pod, ok := k.cfg.Server.Object("pods", m.key)
	if !ok {
		return
	}
	m.clock = k.cfg.Clock(apiserver.As[corev1.Pod](pod))
	mishap := k.cfg.Mishap(apiserver.As[corev1.Pod](pod))
	if mishap.Kind != "" {
		k.befall(m, mishap)
	}
	k.report(m)
	if d := m.spec.ActiveDeadlineSeconds; d != nil {
		k.awaitDeadline(m, time.Duration(*d)*time.Second)
	}
	k.later(m, 50*time.Millisecond, 900*time.Millisecond, "pull", k.startNext)
}

func (k *Kubelet) befall(m *machine, what Mishap) {
	for _, known := range mishaps() {
		if known.kind == what.Kind {
			k.later(m, what.After, what.After+time.Millisecond, what.Kind, func(m *machine) { known.do(k, m) })
		}
	}
}

func now() metav1.Time { return metav1.NewTime(time.Now().Truncate(time.Second)) }

// startNext starts the next container: the init containers one after the end of
// the other, or after the start of one that goes on; then all others.
func (k *Kubelet) startNext(m *machine) {
	if m.over() {
		return
	}
	for _, c := range m.init {
		switch {
		case c.started:
		case c.goesOn:
			if c.waiting() && c.holdup == nil {
				k.startSidecar(m, c)
			}
			return
		case c.ended == nil || c.ended.ExitCode != 0:
			if c.waiting() && c.holdup == nil {
				c.begin()
				k.report(m)
				k.later(m, 20*time.Millisecond, 300*time.Millisecond, "init", func(m *machine) { k.endInit(m, c, 0, "Completed") })
			}
			return
		}
	}
	for i, c := range m.main {
		if c.waiting() && c.holdup == nil {
			c.begin()
			k.report(m)
			k.awaitTurn(m, i)
			k.later(m, 5*time.Millisecond, 80*time.Millisecond, "start", k.startNext)
			return
		}
	}
}

// endInit ends an init container; one that fails is the end of the pod.
func (k *Kubelet) endInit(m *machine, c *container, code int32, reason string) {
	if m.over() || c.running == nil {
		return
	}
	c.end(code, reason, "")
	if code != 0 {
		m.close()
	}
	k.report(m)
	k.startNext(m)
}

// over: nothing more happens in it by itself.
func (m *machine) over() bool { return m.ended || m.killing || m.lost }

// awaitDeadline kills the pod when its time is over.
func (k *Kubelet) awaitDeadline(m *machine, d time.Duration) {
	wait := max(0, d)
	if !m.started.IsZero() {
		wait = max(0, d-time.Since(m.started.Time))
	}
	k.later(m, wait+5*time.Millisecond, wait+900*time.Millisecond, "deadline", func(m *machine) {
		if pod, ok := k.cfg.Server.Object("pods", m.key); !ok || deadline(pod) > d || m.over() {
			return
		}
		m.kill(137, true)
		k.fail(m, "DeadlineExceeded", "Pod was active on the node longer than the specified deadline")
	})
}

// fail ends a pod for a reason of its own.
func (k *Kubelet) fail(m *machine, reason, message string) {
	m.close()
	m.phase, m.reason, m.message = corev1.PodFailed, reason, message
	k.report(m)
}

// terminate ends a pod that somebody has deleted, and then takes it away.
func (k *Kubelet) terminate(m *machine) {
	if m.killing || m.lost {
		return
	}
	m.killing = true
	if !m.ended {
		m.kill(143, true)
		m.close()
	}
	k.report(m)
	k.later(m, 500*time.Millisecond, 2*time.Second, "remove", k.remove)
}

func (k *Kubelet) remove(m *machine) {
	grace := int64(0)
	_, err := k.actor.Delete("pods", m.key, metav1.DeleteOptions{GracePeriodSeconds: &grace, Preconditions: &metav1.Preconditions{UID: &m.uid}})
	if err == nil {
		k.forget(m.uid)
	}
}

// settle ends a pod whose steps all have, once its sidecars have, too.
func (k *Kubelet) settle(m *machine) {
	for _, c := range m.main {
		if c.ended == nil {
			return
		}
	}
	for _, c := range m.init {
		if c.running != nil {
			k.stopSidecars(m)
			return
		}
	}
	m.close()
}
