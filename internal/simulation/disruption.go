package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
)

// A disruption is a fault that has a beginning and an end. To add one, add a line
// to disruptions. What can be felt by a run at work alone begins when there is one.
type disruption struct {
	kind      string
	chance    float64       // in each slot of the storm
	low, high time.Duration // how long it lasts
	// amid is what it waits for, if for anything, and how long after that it begins
	// at most.
	amid  func(apiserver.Exchange) bool
	delay time.Duration
	// begin begins it, as to what it waited for. It is counted when it begins, if
	// it is counted: what refuses requests is counted by these.
	begin   func(w *World, name string, amid apiserver.Exchange) (end func())
	counted bool
}

// slot is how often each disruption has its chance.
const slot = 5 * time.Minute

// What disruptions wait for.

func runMade(e apiserver.Exchange) bool {
	return e.Verb == "create" && e.Resource == "taskruns" && e.Committed()
}

func podMade(e apiserver.Exchange) bool {
	return e.Verb == "create" && e.Resource == "pods" && e.Committed()
}

func claimMade(e apiserver.Exchange) bool {
	return e.Verb == "create" && e.Resource == "persistentvolumeclaims" && e.Committed() && program(e.Actor)
}

func runCancelled(e apiserver.Exchange) bool {
	return e.Verb == "patch" && e.Resource == "taskruns" && e.Committed() && e.Actor == "user"
}

func disruptions() []disruption {
	all := []disruption{
		{kind: "API server restarts", chance: 0.07, low: time.Second, high: time.Minute, counted: true, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			return w.takeDown()
		}},
		{kind: "etcd restarts", chance: 0.05, low: time.Second, high: 90 * time.Second, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			return w.forbid("etcd restarts", all, apiserver.Verdict{Refuse: answerOf(500, "", "etcdserver: no leader")})
		}},
		{kind: "compaction", chance: 0.1, low: time.Second, high: 2 * time.Second, counted: true, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			w.Server.Compact()
			w.Server.EndWatches(apiserver.Reset)
			return nil
		}},
		{kind: "compaction while disconnected", chance: 0.06, low: 2 * time.Second, high: 30 * time.Second, amid: podMade, delay: time.Second, counted: true, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			return both(w.Server.Compact, w.takeDown())
		}},
		{kind: "restore of a backup", chance: 0.08, low: 5 * time.Second, high: 60 * time.Second, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			backup := w.Server.Backup()
			w.watchForWork()
			const bump = 1_000_000 // without it, what is missed is missed: see package reflector
			return func() {
				if !w.worked() { // else the backup is of another world
					w.Server.Restore(backup, bump)
					w.hit("restore of a backup")
					w.notef("the store is restored from a backup at version %d", w.Server.Version())
				}
			}
		}},
		{kind: "partition", chance: 0.05, low: 20 * time.Second, high: 10 * time.Minute, counted: true, begin: func(w *World, name string, _ apiserver.Exchange) func() {
			return w.ofLink(name, (*apiserver.Link).Partition, (*apiserver.Link).Heal)
		}},
		{kind: "network stands still", chance: 0.05, low: 20 * time.Second, high: 10 * time.Minute, counted: true, begin: func(w *World, name string, _ apiserver.Exchange) func() {
			return w.ofLink(name, (*apiserver.Link).Stall, (*apiserver.Link).GoOn)
		}},
		{kind: "conflict storm", chance: 0.1, low: 2 * time.Second, high: 15 * time.Second, amid: runMade, delay: 20 * time.Millisecond, begin: func(w *World, name string, amid apiserver.Exchange) func() {
			conflict := func(e apiserver.Exchange) bool {
				return program(e.Actor) && e.Resource == "taskruns" && e.Code == 409 && e.Fault == ""
			}
			return both(w.counts("conflict storm", conflict), w.foreignWriter(name, amid.Key))
		}},
		{kind: "token rotated", chance: 0.05, low: 5 * time.Second, high: 60 * time.Second, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			w.Server.EndWatches(apiserver.Close)
			return w.forbid("token rotated", all, apiserver.Verdict{Refuse: answerOf(401, metav1.StatusReasonUnauthorized, "Unauthorized")})
		}},
		{kind: "CRD of TaskRuns removed", chance: 0.04, low: 5 * time.Second, high: 60 * time.Second, counted: true, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			w.Server.RemoveCRD("taskruns")
			return func() { w.Server.RestoreCRD("taskruns") }
		}},
		{kind: "CRD of Tasks removed", chance: 0.04, low: 5 * time.Second, high: 60 * time.Second, counted: true, begin: removeTasks},
		{kind: "Lease stolen", chance: 0.05, low: time.Second, high: 2 * time.Second, counted: true, begin: steal(0)},
		{kind: "Lease stolen by one an hour ahead", chance: 0.05, low: time.Second, high: 2 * time.Second, counted: true, begin: steal(time.Hour)},
		{kind: "Lease stolen by one an hour behind", chance: 0.05, low: time.Second, high: 2 * time.Second, counted: true, begin: steal(-time.Hour)},
		{kind: "Lease cannot be renewed", chance: 0.06, low: 20 * time.Second, high: 60 * time.Second, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			renewal := func(r apiserver.Request) bool { return r.Resource == "leases" && r.Verb == "update" }
			return w.forbid("Lease cannot be renewed", renewal, apiserver.Verdict{Refuse: answerOf(503, "", "etcdserver: request timed out")})
		}},
		{kind: "server's clock an hour ahead", chance: 0.05, low: 10 * time.Second, high: 5 * time.Minute, begin: serverClock("server's clock an hour ahead", time.Hour)},
		{kind: "server's clock an hour behind", chance: 0.05, low: 10 * time.Second, high: 5 * time.Minute, begin: serverClock("server's clock an hour behind", -time.Hour)},
		{kind: "calls for one run hang", chance: 0.06, low: 10 * time.Minute, high: 11 * time.Minute, amid: runMade, delay: 2 * time.Second, begin: func(w *World, _ string, amid apiserver.Exchange) func() {
			return w.forbid("calls for one run hang", about(amid.Key), apiserver.Verdict{Lose: apiserver.BeforeActing, Hang: true})
		}},
		{kind: "killed at rest", chance: 0.06, low: time.Second, high: 2 * time.Second, counted: true, begin: func(w *World, name string, _ apiserver.Exchange) func() {
			if p := w.anyProcess(name); p != nil {
				w.kill(p)
			}
			return nil
		}},
	}
	all = append(all, grantsTaken()...)
	all = append(all, refusals()...)
	return append(all, damages()...)
}

// grantsTaken are rights that are taken away and given back. Who has a watch open
// keeps it on a real server too, so those end.
func grantsTaken() []disruption {
	taken := func(verb, resource string, amid func(apiserver.Exchange) bool) disruption {
		kind := fmt.Sprintf("may not %s %s", verb, resource)
		return disruption{kind: kind, chance: 0.02, low: 30 * time.Second, high: 4 * time.Minute, amid: amid, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			if verb == "list" {
				w.Server.Compact()
			}
			if verb == "list" || verb == "watch" {
				w.Server.EndWatches(apiserver.Close)
			}
			return w.forbid(kind, func(r apiserver.Request) bool { return r.Verb == verb && r.Resource == resource },
				apiserver.Verdict{Refuse: answerOf(403, metav1.StatusReasonForbidden, fmt.Sprintf("User cannot %s resource %s", verb, resource))})
		}}
	}
	return []disruption{
		taken("patch", "taskruns", runMade), taken("create", "pods", runMade), taken("create", "events", runMade), taken("delete", "pods", runCancelled),
		taken("watch", "taskruns", nil), taken("watch", "pods", nil), taken("watch", "tasks", nil), taken("list", "taskruns", nil), taken("list", "pods", nil),
		taken("update", "leases", nil),
	}
}

// refusals of pods last for some time, as those of an administrator do.
func refusals() []disruption {
	lasts := func(kind string, with apiserver.Verdict) disruption {
		return disruption{kind: kind, chance: 0.03, low: 10 * time.Second, high: 3 * time.Minute, amid: runMade, delay: time.Millisecond, begin: func(w *World, _ string, _ apiserver.Exchange) func() {
			return w.forbid(kind, createsPod, with)
		}}
	}
	return []disruption{
		lasts("quota exceeded for a while", apiserver.Verdict{Refuse: quotaExceeded()}),
		lasts("LimitRange for a while", apiserver.Verdict{Refuse: limitRange()}),
		lasts("another webhook's No for a while", apiserver.Verdict{Refuse: webhookSaysNo()}),
		lasts("another webhook is away for a while", apiserver.Verdict{Refuse: webhookAway()}),
		{kind: "namespace terminating", chance: 0.03, low: 10 * time.Second, high: 3 * time.Minute, amid: runMade, delay: time.Millisecond, begin: func(w *World, _ string, amid apiserver.Exchange) func() {
			in := func(r apiserver.Request) bool { return r.Verb == "create" && r.Key.Namespace == amid.Key.Namespace }
			return w.forbid("namespace terminating", in, apiserver.Verdict{Refuse: namespaceGoes(amid.Key.Namespace)})
		}},
		{kind: "ServiceAccount removed", chance: 0.03, low: 10 * time.Second, high: 3 * time.Minute, amid: runMade, delay: time.Millisecond, begin: func(w *World, _ string, amid apiserver.Exchange) func() {
			ns := amid.Key.Namespace
			_, _ = w.Server.Actor("cluster").Delete("serviceaccounts", types.NamespacedName{Namespace: ns, Name: "default"}, metav1.DeleteOptions{})
			in := func(r apiserver.Request) bool { return createsPod(r) && r.Key.Namespace == ns }
			return both(w.forbid("ServiceAccount removed", in, apiserver.Verdict{Refuse: noServiceAccount()}), func() { w.account(ns) })
		}},
	}
}

// nobody has this UID.
const nobody = "00000000-0000-4000-8000-ffffffffffff"

// damages are done by somebody who writes to what is not his.
func damages() []disruption {
	pod := func(kind string, damage func(*corev1.Pod)) disruption {
		return disruption{kind: kind, chance: 0.04, high: time.Nanosecond, amid: podMade, delay: 6 * time.Second, begin: func(w *World, _ string, amid apiserver.Exchange) func() {
			w.damagePod(kind, amid.Key, damage)
			return nil
		}}
	}
	claim := func(kind string, damage func(*corev1.PersistentVolumeClaim)) disruption {
		return disruption{kind: kind, chance: 0.13, high: time.Nanosecond, amid: claimMade, delay: 6 * time.Second, begin: func(w *World, _ string, amid apiserver.Exchange) func() {
			w.damageClaim(kind, amid.Key, damage)
			return nil
		}}
	}
	return []disruption{
		claim("claim loses its owner", func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences = nil }),
		claim(claimCollected, func(c *corev1.PersistentVolumeClaim) { c.OwnerReferences[0].UID = nobody }),
		pod("pod loses its label", func(p *corev1.Pod) { delete(p.Labels, "tekton.dev/taskRun") }),
		pod("pod gets the label of another run", func(p *corev1.Pod) { p.Labels["tekton.dev/taskRun"] = "another" }),
		pod("pod loses its owner", func(p *corev1.Pod) { p.OwnerReferences = nil }),
		pod("pod gets an owner that is not there", func(p *corev1.Pod) { p.OwnerReferences[0].UID = nobody }),
		{kind: "run loses its labels", chance: 0.05, high: time.Nanosecond, amid: runMade, delay: 6 * time.Second, begin: func(w *World, _ string, amid apiserver.Exchange) func() {
			_, err := w.Server.Actor("foreign writer").Patch("taskruns", "", amid.Key, `{"metadata":{"labels":null,"annotations":{"tekton.dev/taskRunUID":"another"}}}`)
			if err == nil {
				w.hit("run loses its labels")
			}
			return nil
		}},
	}
}

func (w *World) damagePod(kind string, key types.NamespacedName, damage func(*corev1.Pod)) {
	o, ok := w.Server.Object("pods", key)
	if !ok || metav1.GetControllerOf(o) == nil || o.GetLabels()["tekton.dev/taskRun"] == "" {
		return
	}
	run := types.NamespacedName{Namespace: key.Namespace, Name: metav1.GetControllerOf(o).Name}
	w.mu.Lock()
	w.facts.disturbOwner(o, kind)
	w.facts.disturbNext(run, metav1.GetControllerOf(o).UID, kind)
	w.mu.Unlock()
	w.listen(func(e apiserver.Exchange) { // the next run of the name finds what is left of this one
		if runMade(e) && e.Key == run {
			made := w.facts.Runs[e.After.GetUID()]
			made.Disturbed = append(made.Disturbed, kind)
		}
	})
	if _, err := apiserver.Change(w.Server.Actor("foreign writer"), "pods", "", key, damage); err == nil {
		w.hit(kind)
	}
}

// claimCollected has the garbage collector delete the claim.
const claimCollected = "claim gets an owner that is not there"

// damageClaim changes a claim that was made for a run, and is its own yet. The run is
// to come to what it comes to without that, unless the claim goes.
func (w *World) damageClaim(kind string, key types.NamespacedName, damage func(*corev1.PersistentVolumeClaim)) {
	o, ok := w.Server.Object("persistentvolumeclaims", key)
	if !ok || metav1.GetControllerOf(o) == nil {
		return
	}
	if kind == claimCollected {
		w.mu.Lock()
		w.facts.disturbOwner(o, kind)
		w.mu.Unlock()
	}
	if _, err := apiserver.Change(w.Server.Actor("foreign writer"), "persistentvolumeclaims", "", key, damage); err == nil {
		w.hit(kind)
	}
}

// about are the program's requests for a run and its pods.
func about(run types.NamespacedName) func(apiserver.Request) bool {
	return func(r apiserver.Request) bool {
		return program(r.Actor) && r.Key.Namespace == run.Namespace && (r.Key.Name == run.Name || r.Key.Name == run.Name+"-pod")
	}
}

// steal has somebody take the Lease, whose clock is off.
func steal(clock time.Duration) func(*World, string, apiserver.Exchange) func() {
	return func(w *World, _ string, _ apiserver.Exchange) func() {
		key := types.NamespacedName{Namespace: namespace, Name: leaseName}
		now := time.Now().Add(clock).UTC().Format("2006-01-02T15:04:05.000000Z07:00")
		_, _ = w.user.Patch("leases", "", key, fmt.Sprintf(`{"spec":{"holderIdentity":"a-thief","renewTime":%q,"acquireTime":%q}}`, now, now))
		return nil
	}
}

// serverClock puts the server's clock wrong: what is made meanwhile has the wrong age.
func serverClock(kind string, ahead time.Duration) func(*World, string, apiserver.Exchange) func() {
	return func(w *World, _ string, _ apiserver.Exchange) func() {
		w.Server.SetClock(ahead)
		made := func(e apiserver.Exchange) bool { return runMade(e) || podMade(e) }
		return both(w.counts(kind, made), func() { w.Server.SetClock(0) })
	}
}

// Nodes whose clocks are off.
const (
	nodeAhead  = "node's clock an hour ahead"
	nodeBehind = "node's clock an hour behind"
)

// clockOf is what the clock of a pod's node is ahead of the time.
func (w *World) clockOf(pod *corev1.Pod) time.Duration {
	name := pod.Namespace + "/" + pod.Name + " " + string(pod.UID)
	for _, off := range []struct {
		kind  string
		ahead time.Duration
	}{{nodeAhead, time.Hour}, {nodeBehind, -time.Hour}} {
		if w.ledger.happens(off.kind, 0.03, name) {
			w.hit(off.kind)
			return off.ahead
		}
	}
	return 0
}

// removeTasks removes the CRD of Tasks, and so all Tasks; users make them again. A
// run that looks for its Task meanwhile cannot find it.
func removeTasks(w *World, _ string, _ apiserver.Exchange) func() {
	tasks := w.Server.Objects("tasks")
	w.mu.Lock()
	w.facts.withoutTask()
	w.mu.Unlock()
	w.Server.RemoveCRD("tasks")
	over := w.listen(func(apiserver.Exchange) { w.facts.withoutTask() })
	return func() {
		w.Server.RestoreCRD("tasks")
		for _, t := range tasks {
			_, _ = w.user.Create("tasks", build(t.GetNamespace(), 1))
		}
		over()
	}
}

func both(a, b func()) func() { return func() { a(); b() } }

// ofLink does something to the way of one process, and undoes it.
func (w *World) ofLink(name string, begin, end func(*apiserver.Link)) func() {
	link := w.anyLink(name)
	if link == nil {
		return nil
	}
	begin(link)
	return func() { end(link) }
}

// disrupt puts the disruptions of the storm on the agenda.
func (w *World) disrupt(until time.Duration) {
	for _, d := range disruptions() {
		for at := slot / 2; at < until; at += slot {
			name := fmt.Sprintf("at about %s", at)
			begin := at + w.Plan.Seed.Between(0, slot, d.kind, "begins", name)
			w.Agenda.After(begin, func() {
				if !w.ledger.happens(d.kind, d.chance, name) {
					return
				}
				if d.amid == nil {
					w.befall(d, name, until, apiserver.Exchange{})
					return
				}
				w.afterNext(d.amid, w.Plan.Seed.Between(0, max(d.delay, time.Nanosecond), d.kind, "after", name), func(e apiserver.Exchange) { w.befall(d, name, until, e) })
			})
		}
	}
}

// befall has a disruption begin, unless it would outlast the storm.
func (w *World) befall(d disruption, name string, until time.Duration, amid apiserver.Exchange) {
	length := w.Plan.Seed.Between(d.low, d.high, d.kind, "lasts", name)
	if time.Since(w.begun)+length > until {
		return
	}
	w.notef("⚡ %s, for %s", d.kind, length.Round(time.Millisecond))
	if d.counted {
		w.hit(d.kind)
	}
	if end := d.begin(w, d.kind+name, amid); end != nil {
		w.Agenda.After(length, func() {
			w.notef("⚡ %s: over", d.kind)
			end()
		})
	}
}

// hit counts a fault that was felt.
func (w *World) hit(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.Faults[kind]++
}

// listen has each exchange told until over is called. What is called must not call
// the server, and holds the world's lock.
func (w *World) listen(to func(apiserver.Exchange)) (over func()) {
	l := &listener{to}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, l)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.deafLocked(l)
	}
}

type listener struct{ hear func(apiserver.Exchange) }

// counts counts exchanges as faults of a kind.
func (w *World) counts(kind string, of func(apiserver.Exchange) bool) (over func()) {
	return w.listen(func(e apiserver.Exchange) {
		if of(e) {
			w.facts.Faults[kind]++
		}
	})
}

// afterNext does something some time after the next exchange that is so.
func (w *World) afterNext(is func(apiserver.Exchange) bool, wait time.Duration, do func(apiserver.Exchange)) {
	l := &listener{}
	l.hear = func(e apiserver.Exchange) {
		if is(e) {
			w.deafLocked(l)
			w.Agenda.After(wait, func() { do(e) })
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listeners = append(w.listeners, l)
}
