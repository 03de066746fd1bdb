package simulation

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/kubelet"
	"millrace/internal/simulation/turnstile"
)

// The program's own namespace and Lease.
const (
	namespace = "tekton-pipelines"
	leaseName = "millrace-controller"
)

// How long the parts of a simulation are.
const (
	// healing is how long after the last fault every run must have ended, apart
	// from its own work.
	healing = 2 * time.Minute
	// quiet is how long nothing may be written then.
	quiet = 10 * time.Minute
)

// Setting is what does not change from plan to plan.
type Setting struct {
	// Program is what is simulated.
	Program Program
	// LeaseDuration, RenewDeadline and RetryPeriod are those that Program uses.
	LeaseDuration, RenewDeadline, RetryPeriod time.Duration
	// Grants are what the program is granted. Default: everything.
	Grants []Grant
	// Invariants are checked. Default: Invariants().
	Invariants []Invariant
	// Replicas are at work. Default: as many as the workload has.
	Replicas int
}

// World is one simulation while it runs.
type World struct {
	Plan   Plan
	Server *apiserver.Server
	Agenda *turnstile.Agenda

	setting      Setting
	ledger       *ledger
	interference *interference
	trace        *Trace // for systematic plans; nil in a storm
	kubelet      *kubelet.Kubelet
	user         apiserver.Actor
	begun        time.Time
	workload     Workload

	processes sync.WaitGroup
	alive     map[string]*process // by pod name; the agenda's
	lives     map[string]int      // incarnations, by pod name
	ending    bool

	mu       sync.Mutex
	lines    lines
	facts    *Facts
	checks   []Check
	requests int
	writes   int  // of work, committed by the program
	owners   int  // changes of what may be an owner, or be owned
	busy     bool // since watchForWork
	bans     []*ban
	downs    int // how many keep the server away

	listeners []*listener
}

// Play plays a plan. It has to be called in a bubble of testing/synctest.
func Play(p Plan, s Setting) *Result {
	w := newWorld(p, s)
	ctx, stop := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	parts.Go(func() { w.Agenda.Run(ctx) })
	parts.Go(func() { _ = w.Server.Run(ctx) })
	w.unfold()
	w.stopAll()
	stop()
	parts.Wait()
	pass(time.Millisecond) // time passes only when who is about to go has gone
	if w.leaks(); w.facts.Leaks != "" {
		pass(24 * time.Hour) // what only sleeps goes in the end, and the bubble with it
	}
	return w.result()
}

func newWorld(p Plan, s Setting) *World {
	w := &World{
		Plan: p, Agenda: turnstile.NewAgenda(), setting: s, begun: time.Now(), workload: workload(p.Workload),
		alive: map[string]*process{}, lives: map[string]int{}, ledger: newLedger(p), lines: newLines(),
	}
	w.interference = newInterference(p, w.ledger)
	w.interference.blindfold = newBlindfold(p, w.keptf)
	if p.Chaos == 0 {
		w.trace = newTrace()
		w.interference.trace = w.trace
	}
	w.Server = apiserver.New(apiserver.Config{
		Interference: w.interference, Seen: w.saw, Told: w.told,
		Killed:      func(actor string) { w.Agenda.After(0, func() { w.bury(actor) }) },
		Unknown:     w.unknown,
		Silent:      w.silent,
		PageCap:     5,
		NoWatchList: p.Chaos > 0 && p.Seed.Happens(0.3, "no watch-list"),
	})
	w.interference.now, w.interference.quick = w.Server.Version, w.workload.quick
	w.interference.ban = w.banned
	w.interference.terms = func(actor string) { w.Agenda.After(0, func() { w.tellToStop(actor) }) }
	w.kubelet = kubelet.New(kubelet.Config{Server: w.Server, Agenda: w.Agenda, Seed: p.Seed, Mishap: w.mishap, Clock: w.clockOf})
	w.user = w.Server.Actor("user")
	w.facts = newFacts(w)
	invariants := s.Invariants
	if invariants == nil && !w.workload.brief {
		invariants = Invariants()
	}
	for _, i := range invariants {
		w.checks = append(w.checks, i.New(w.facts, w.violated(i)))
	}
	if w.workload.judge != nil {
		w.checks = append(w.checks, w.workload.judge(w.facts, w.violated(Invariant{ID: w.workload.Name})))
	}
	return w
}

// unfold lets everything happen, and returns when it has.
func (w *World) unfold() {
	for i := range cmp.Or(w.setting.Replicas, w.workload.replicas(w.Plan)) {
		w.Agenda.After(w.Plan.Seed.Between(0, time.Second, "start", fmt.Sprint(i)), func() { w.start(fmt.Sprint("millrace-", i)) })
	}
	w.workload.Users(w)
	if w.Plan.Chaos > 0 {
		w.disrupt(w.workload.Lasts)
		w.sample(w.workload.Lasts)
	}
	w.collectOrphans()
	pass(w.workload.Lasts)
	if w.workload.brief {
		return
	}
	w.calm()
	pass(healing + w.ownWork())
	pass(time.Minute) // for what events and Leases there may still be
	w.mark(&w.facts.Quiet)
	pass(quiet)
	w.mark(&w.facts.Over)
	w.scrape()
}

// mark sets one of the facts' times to now.
func (w *World) mark(at *time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	*at = time.Now()
}

func (w *World) ownWork() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.facts.ownWork()
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// calm lets nothing go wrong from now on.
func (w *World) calm() {
	w.ledger.settle()
	w.interference.thaw()
	w.mark(&w.facts.Calm)
	w.notef("nothing goes wrong from now on")
}

// saw is told of each exchange, under the server's lock.
func (w *World) saw(e apiserver.Exchange) {
	w.kubelet.Saw(e)
	w.interference.blindfold.see(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines.exchange(time.Since(w.begun), e)
	if e.Fault != "" {
		w.facts.Faults[e.Fault]++
	}
	if e.Committed() && e.Resource != "leases" && e.Resource != "events" {
		w.owners++
	}
	if program(e.Actor) {
		w.requests++
		if e.Committed() && work(e.Request) {
			w.writes++
			w.busy = true
		}
	} else if e.Committed() && work(e.Request) {
		w.busy = true
	}
	w.facts.see(e)
	for _, l := range slices.Clone(w.listeners) {
		l.hear(e)
	}
	if w.trace != nil {
		w.trace.changed(e)
	}
	for _, c := range w.checks {
		if c.See != nil {
			c.See(e)
		}
	}
}

// told is told of each event of a watch.
func (w *World) told(e apiserver.Event, v apiserver.EventVerdict) {
	change := w.interference.blindfold.told(e)
	w.mu.Lock()
	defer w.mu.Unlock()
	if v.Fault != "" {
		w.facts.Faults[v.Fault]++
	}
	if e.Type == "BOOKMARK" && v.Fault == "" {
		return
	}
	if v.Arrives() {
		w.facts.told(e)
		for _, c := range w.checks {
			if c.Told != nil {
				c.Told(e)
			}
		}
	}
	if w.trace != nil {
		w.trace.told(e, change, time.Now())
	}
	w.lines.event(time.Since(w.begun), e, v.Fault)
}

// unknown is a resource that the program has come to use and the model lacks:
// what follows says nothing about the program.
func (w *World) unknown(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.violated(Invariant{ID: "the model"})("%s is not modelled: apiserver/resources.go", path)
}

// program tells whether an actor is the program.
func program(actor string) bool { return strings.HasPrefix(actor, "millrace-") }

// mishap is what happens to a pod, if anything does.
func (w *World) mishap(pod *corev1.Pod) kubelet.Mishap {
	name := pod.Namespace + "/" + pod.Name
	planned, isPlanned := w.workload.mishap(pod)
	for _, risk := range kubelet.Risks(pod) {
		switch {
		case isPlanned && planned.Kind == risk.Kind:
			w.disturbed(pod, planned.Kind)
			return planned
		case !isPlanned && w.ledger.happens("pod "+risk.Kind, risk.Chance, name+" "+string(pod.UID)):
			w.disturbed(pod, risk.Kind)
			return kubelet.Mishap{Kind: risk.Kind, After: w.Plan.Seed.Between(0, risk.Within, "mishap", name)}
		}
	}
	return kubelet.Mishap{}
}

func (w *World) disturbed(pod *corev1.Pod, kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.facts.disturbOwner(pod, kind)
	w.facts.Faults["pod "+kind]++
	w.lines.mishap(time.Since(w.begun), pod, kind)
}

// collectOrphans is the garbage collector.
func (w *World) collectOrphans() {
	collector := w.Server.Actor("garbage collector")
	n, looked := 0, -1
	var look func()
	look = func() {
		n++
		if now := w.changed(); now != looked {
			looked = now
			for _, o := range w.Server.Orphans() {
				_, _ = collector.Delete(o.Resource, o.Key, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}})
			}
		}
		w.Agenda.After(w.Plan.Seed.Between(300*time.Millisecond, 3*time.Second, "collect", fmt.Sprint(n)), look)
	}
	w.Agenda.After(time.Second, look)
}

// changed counts what was done to objects that have owners, or are some.
func (w *World) changed() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.owners
}

// A ban refuses requests for a while.
type ban struct {
	kind string
	of   func(apiserver.Request) bool
	with apiserver.Verdict
}

func (w *World) forbid(kind string, of func(apiserver.Request) bool, with apiserver.Verdict) (end func()) {
	b := &ban{kind, of, with}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bans = append(w.bans, b)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.bans = slices.DeleteFunc(w.bans, func(other *ban) bool { return other == b })
	}
}

func (w *World) banned(r apiserver.Request) (string, *apiserver.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, b := range w.bans {
		if b.of(r) {
			v := b.with
			return b.kind, &v
		}
	}
	return "", nil
}

func (w *World) deafLocked(l *listener) {
	w.listeners = slices.DeleteFunc(slices.Clone(w.listeners), func(other *listener) bool { return other == l })
}

// foreignWriter annotates a run every 50 ms.
func (w *World) foreignWriter(name string, key types.NamespacedName) (end func()) {
	over, n := false, 0
	var write func()
	write = func() {
		if over {
			return
		}
		n++
		_, _ = w.Server.Actor("foreign writer").Patch("taskruns", "", key, fmt.Sprintf(`{"metadata":{"annotations":{"foreign":"%d"}}}`, n))
		w.Agenda.After(w.Plan.Seed.Between(45*time.Millisecond, 55*time.Millisecond, "foreign", name, fmt.Sprint(n)), write)
	}
	write()
	return func() { over = true }
}

func (w *World) watchForWork() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
}

func (w *World) worked() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

// takeDown takes the server away until everybody who has taken it away has let it
// come back: an outage is one, however many cause it.
func (w *World) takeDown() (up func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.downs++; w.downs == 1 {
		w.Server.Down()
		w.facts.Outages = append(w.facts.Outages, Span{From: time.Now(), Dials: w.dialsLocked()})
	}
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.downs--; w.downs == 0 {
			s := &w.facts.Outages[len(w.facts.Outages)-1]
			s.To, s.Dials = time.Now(), w.dialsLocked()-s.Dials
			w.Server.Up()
		}
	}
}

// Violation is a broken invariant.
type Violation struct {
	Invariant string
	At        time.Duration
	What      string
}

func (w *World) violated(i Invariant) func(format string, args ...any) {
	return func(format string, args ...any) {
		v := Violation{i.ID, time.Since(w.begun), fmt.Sprintf(format, args...)}
		w.facts.Violations = append(w.facts.Violations, v)
		w.lines.all = append(w.lines.all, Line{At: v.At, Text: "✗ " + i.ID + ": " + v.What})
	}
}

// Result is what became of a plan.
type Result struct {
	Plan       Plan
	Violations []Violation
	Lines      []Line
	Hash       uint64
	Lasted     time.Duration
	Requests   int
	Writes     int                      // of TaskRuns and pods, by the program
	Faults     map[string]int           // by kind
	Fired      []string                 // names of what could be left out of the plan
	First      map[string]time.Duration // when each of them happened first
	Facts      *Facts
	Trace      *Trace // nil if anything was to go wrong by chance
}

func (w *World) result() *Result {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.checks {
		if c.End != nil {
			c.End()
		}
	}
	r := &Result{
		Plan: w.Plan, Violations: w.facts.Violations, Lines: w.lines.all, Hash: w.lines.hash, Lasted: time.Since(w.begun),
		Requests: w.requests, Writes: w.writes, Faults: w.facts.Faults, Facts: w.facts, Trace: w.trace, First: w.ledger.first,
	}
	for name := range w.ledger.fired {
		r.Fired = append(r.Fired, name)
	}
	slices.Sort(r.Fired)
	for _, name := range r.Fired {
		if kind := w.ledger.fired[name]; strings.HasPrefix(kind, "user ") { // no exchange tells of it
			r.Faults[kind]++
		}
	}
	return r
}
