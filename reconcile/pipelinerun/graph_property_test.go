package pipelinerun

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
)

// For every graph and every pattern of results, failures, skips, retries and
// restarts: each task runs at most once, never before what it needs, and the run ends
// as a simple interpreter says. The interpreter has no graph, no order and no memory
// but what each task has come to; it looks at all tasks again and again until nothing
// changes.
func TestRandomGraphsEndAsTheInterpreterSays(t *testing.T) {
	n := 300
	if testing.Short() {
		n = 100
	}
	for seed := range n {
		g := newGamble(t, uint64(seed))
		g.play()
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text(g.w.run.Spec.PipelineSpec))
		}
	}
}

// FuzzGraphs is the same for seeds that a fuzzer chooses.
func FuzzGraphs(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed * 7919)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { newGamble(t, seed).play() })
}

// A fate is what a task will do if it runs, and what the interpreter knows of it.
type fate struct {
	*crds.PipelineTask

	final   bool
	needs   []string // of runAfter and of references
	results []string // names of tasks whose result r it refers to, not in when
	when    string   // task whose result it compares; empty: none
	static  string   // "no" for a condition that never holds

	outcome string // reason of the child
	leaves  bool   // a result r
	runs    int

	state  string // "", running, succeeded, failed, cancelled, skipped, invalid
	reason crds.SkippingReason
	left   bool // it has left its result
}

type gamble struct {
	t     *testing.T
	r     *rand.Rand
	w     *world
	fates []*fate
	by    map[string]*fate
	crash bool
}

func newGamble(t *testing.T, seed uint64) *gamble {
	t.Helper()
	g := &gamble{t: t, r: rand.New(rand.NewPCG(seed, 1)), by: map[string]*fate{}}
	g.crash = g.chance(2)
	spec := &crds.PipelineSpec{}
	n, finals := 1+g.r.IntN(10), g.r.IntN(4)
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("t%d", i)
	}
	g.r.Shuffle(n, func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range n + finals {
		f := g.newFate(names, i, n)
		g.fates = append(g.fates, f)
		g.by[f.Name] = f
	}
	order := slices.Clone(g.fates[:n])
	g.r.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, f := range order {
		spec.Tasks = append(spec.Tasks, *f.PipelineTask)
	}
	for _, f := range g.fates[n:] {
		spec.Finally = append(spec.Finally, *f.PipelineTask)
	}
	run := &crds.PipelineRun{Spec: crds.PipelineRunSpec{PipelineSpec: spec}}
	run.Name = "run"
	g.w = newWorld(t, run)
	return g
}

func (g *gamble) chance(of int) bool { return g.r.IntN(of) == 0 }

// newFate refers to tasks that come before it in names only.
func (g *gamble) newFate(names []string, i, n int) *fate {
	f := &fate{final: i >= n, runs: 1, leaves: !g.chance(4)}
	f.PipelineTask = &crds.PipelineTask{TaskSpec: &crds.EmbeddedTask{TaskSpec: crds.TaskSpec{
		Steps: []crds.Step{{Image: "x"}}, Results: []crds.TaskResult{{Name: "r"}},
	}}}
	f.outcome = []string{"Succeeded", "Succeeded", "Succeeded", "Succeeded", "Succeeded", "Failed", "TaskRunTimeout", "TaskRunCancelled"}[g.r.IntN(8)]
	before := names[:min(i, n)]
	f.Name = fmt.Sprintf("f%d", i)
	if !f.final {
		f.Name = names[i]
	}
	if g.chance(5) {
		f.OnError = crds.PipelineTaskContinue
	} else if g.chance(4) {
		f.Retries = 2
	}
	if g.chance(6) {
		f.runs = 2
		f.Matrix = &crds.Matrix{Params: crds.Params{{Name: "m", Value: crds.NewArray("a", "b")}}}
	}
	for _, name := range before {
		g.edge(f, name)
	}
	if g.chance(6) {
		f.static = "no"
		f.When = append(f.When, crds.WhenExpression{Input: "a", Operator: crds.WhenIn, Values: []string{"b"}})
	}
	if f.final && g.chance(2) {
		f.Params = append(f.Params, crds.Param{Name: "s", Value: crds.NewString("$(tasks.status) $(tasks." + names[0] + ".status)")})
	}
	return f
}

func (g *gamble) edge(f *fate, name string) {
	reference := "$(tasks." + name + ".results.r)"
	if g.by[name].Matrix != nil {
		reference = "$(tasks." + name + ".results.r[*])"
	}
	switch g.r.IntN(8) {
	case 0:
		if !f.final {
			f.RunAfter = append(f.RunAfter, name)
			f.needs = append(f.needs, name)
		}
	case 1:
		f.Params = append(f.Params, crds.Param{Name: "p" + name, Value: crds.NewString(reference)})
		f.results, f.needs = append(f.results, name), append(f.needs, name)
	case 2:
		if f.when == "" && g.by[name].Matrix == nil {
			f.when, f.needs = name, append(f.needs, name)
			f.When = append(f.When, crds.WhenExpression{Input: reference, Operator: crds.WhenNotIn, Values: []string{"no"}})
		}
	}
}

// play lets everything happen in some order, until the run has ended.
func (g *gamble) play() {
	for range 200 {
		g.reconcile()
		g.interpret()
		g.compare()
		if g.t.Failed() || g.w.run.IsDone() {
			break
		}
		if !g.event() {
			g.t.Errorf("nothing runs, and the run has not ended: %s", text(g.w.run.Status))
			return
		}
	}
	if !g.w.run.IsDone() && !g.t.Failed() {
		g.t.Error("the run has not ended")
	}
	if p := g.w.reconcile(); len(p) != 1 || len(p[0].Actions) > 0 {
		g.t.Errorf("a run that has ended: %v", p)
	}
	if most := 2 + 2*len(g.w.created); g.w.statuses > most && !g.crash {
		g.t.Errorf("%d writes of the status for %d children", g.w.statuses, len(g.w.created))
	}
}

// reconcile may die after each action, and begins again from what the server has.
func (g *gamble) reconcile() {
	for g.crash && g.chance(2) {
		o := g.w.observe()
		for range 3 {
			p := plan(o, g.w.now, g.w.config)
			if p.asks() {
				g.w.answer(&o, p)
				continue
			}
			if len(p.Actions) > 0 {
				p.Actions = p.Actions[:g.r.IntN(len(p.Actions))]
			}
			g.w.act(&o, p)
			break
		}
	}
	g.w.reconcile()
}

// event ends one child, or has a user end the run. It tells whether there was one.
func (g *gamble) event() bool {
	var open []*child
	for i := range g.w.children {
		if !g.w.children[i].done() {
			open = append(open, &g.w.children[i])
		}
	}
	if len(open) == 0 {
		return false
	}
	if g.w.run.Spec.Status == "" && g.chance(25) {
		g.w.run.Spec.Status = []crds.PipelineRunSpecStatus{crds.PipelineRunSpecStatusStoppedRunFinally, crds.PipelineRunSpecStatusCancelledRunFinally, crds.PipelineRunSpecStatusCancelled}[g.r.IntN(3)]
		return true
	}
	for range 1 + g.r.IntN(2) {
		c := open[g.r.IntN(len(open))]
		if c.done() {
			continue
		}
		f := g.by[c.PipelineTask]
		var results []crds.TaskRunResult
		reason := f.outcome
		if c.Cancelled {
			reason = "TaskRunCancelled"
		}
		if f.leaves && (reason == "Succeeded" || g.chance(2)) {
			results = append(results, crds.TaskRunResult{Name: "r", Value: crds.NewString("v")})
			f.left = true
		}
		if reason != "Succeeded" && g.chance(10) && !f.left {
			g.w.vanish(c.Name)
			return true
		}
		g.w.end(c.Name, reason, results...)
	}
	return true
}

// interpret brings what the interpreter knows up to the children's state.
func (g *gamble) interpret() {
	for _, f := range g.fates {
		if f.state == "running" {
			f.state = g.stateOfRuns(f)
		}
	}
	if g.w.run.Spec.Status == crds.PipelineRunSpecStatusCancelled {
		return
	}
	settled := map[*fate]bool{}
	for _, f := range g.fates {
		settled[f] = f.state != "" && f.state != "invalid"
	}
	for {
		stopping := g.stopping()
		for _, f := range g.fates {
			if !settled[f] && f.state != "invalid" && f.state != "skipped" {
				f.state, f.reason = "", ""
			}
		}
		for changed := true; changed; {
			changed = false
			for _, f := range g.fates {
				if f.state == "" && g.judge(f, stopping) {
					changed = true
				}
			}
		}
		if g.stopping() == stopping {
			break
		}
	}
	for _, f := range g.fates {
		if f.state == "go" {
			f.state = "running"
		}
	}
}

func (g *gamble) stateOfRuns(f *fate) string {
	found, failed, cancelled := 0, false, false
	for _, c := range g.w.children {
		if c.PipelineTask != f.Name {
			continue
		}
		found++
		if !c.done() {
			return "running"
		}
		failed = failed || c.Status == corev1.ConditionFalse
		cancelled = cancelled || c.Reason == "TaskRunCancelled"
	}
	switch {
	case cancelled:
		return "cancelled"
	case failed || found < f.runs:
		return "failed"
	default:
		return "succeeded"
	}
}

func (f *fate) over() bool { return f.state != "" && f.state != "running" && f.state != "go" }

func (f *fate) bad() bool { return f.state == "failed" || f.state == "cancelled" }

func (g *gamble) stopping() bool {
	return slices.ContainsFunc(g.fates, func(f *fate) bool {
		return !f.final && (f.bad() && f.OnError == "" || f.state == "invalid")
	})
}

// judge decides about a task that has not begun, if that can be done now.
func (g *gamble) judge(f *fate, stopping bool) bool {
	skip := func(reason crds.SkippingReason) bool {
		f.state, f.reason = "skipped", reason
		return true
	}
	waits, parent, fell := false, false, false
	for _, name := range f.needs {
		p := g.by[name]
		waits = waits || !p.over()
		parent = parent || p.state == "skipped" && p.reason != crds.SkippingReasonWhen && !f.final
		fell = fell || p.bad() && p.OnError == "" && !f.final
	}
	if f.final {
		for _, other := range g.fates {
			waits = waits || !other.final && !other.over()
		}
	}
	early := g.early(f, stopping)
	switch {
	case (waits || fell) && early != "":
		return skip(early)
	case waits && parent:
		return skip(crds.SkippingReasonParentTasks)
	case waits:
		return false
	}
	state, reason := g.inTurn(f, parent)
	if early != "" && state != "invalid" {
		return skip(early)
	}
	f.state, f.reason = state, reason
	return true
}

// early is why a task of the graph is not begun, whatever it says itself.
func (g *gamble) early(f *fate, stopping bool) crds.SkippingReason {
	switch {
	case f.final:
		return ""
	case stopping:
		return crds.SkippingReasonStopping
	case g.w.run.Spec.Status == crds.PipelineRunSpecStatusCancelledRunFinally:
		return crds.SkippingReasonGracefullyCancelled
	case g.w.run.Spec.Status == crds.PipelineRunSpecStatusStoppedRunFinally:
		return crds.SkippingReasonGracefullyStopped
	default:
		return ""
	}
}

// inTurn is for a task of which all that it needs is over.
func (g *gamble) inTurn(f *fate, parent bool) (state string, reason crds.SkippingReason) {
	unknown := ""
	if f.when != "" && !g.has(f.when) {
		unknown = f.when
	}
	switch {
	case unknown == "" && f.static == "no":
		return "skipped", crds.SkippingReasonWhen
	case parent:
		return "skipped", crds.SkippingReasonParentTasks
	}
	for _, name := range f.results {
		if unknown == "" && !g.has(name) {
			unknown = name
		}
	}
	switch {
	case unknown == "":
		return "go", ""
	case f.final || f.OnError != "" || g.by[unknown].state == "skipped":
		return "skipped", crds.SkippingReasonMissingResults
	default:
		return "invalid", ""
	}
}

func (g *gamble) has(name string) bool {
	f := g.by[name]
	return f.left && (f.bad() || f.state == "succeeded")
}

// compare holds the world to what the interpreter says.
func (g *gamble) compare() {
	g.t.Helper()
	for _, f := range g.fates {
		made := 0
		for _, name := range g.w.created {
			if name == "run-"+f.Name || strings.HasPrefix(name, "run-"+f.Name+"-") {
				made++
			}
		}
		want := 0
		if f.state == "running" || f.bad() || f.state == "succeeded" {
			want = f.runs
		}
		if made != want {
			g.t.Errorf("task %s has %d runs and must have %d: it is %s %s", f.Name, made, want, f.state, f.reason)
		}
	}
	if g.w.run.Spec.Status == crds.PipelineRunSpecStatusCancelled {
		return
	}
	for _, f := range g.fates {
		i := slices.IndexFunc(g.w.run.Status.SkippedTasks, func(s crds.SkippedTask) bool { return s.Name == f.Name })
		var reason crds.SkippingReason
		if i >= 0 {
			reason = g.w.run.Status.SkippedTasks[i].Reason
		}
		if reason != f.reason {
			g.t.Errorf("task %s is skipped because %q, and the interpreter says %q", f.Name, reason, f.reason)
		}
	}
	if want, done := g.end(); done != g.w.run.IsDone() || done && want != g.w.run.Succeeded().Reason {
		g.t.Errorf("the run is done: %t, %s %s; the interpreter says %t, %s", g.w.run.IsDone(), g.w.run.Succeeded().Reason, g.w.run.Succeeded().Message, done, want)
	}
}

// end is the reason with which the run ends, once all is over.
func (g *gamble) end() (reason string, done bool) {
	count := map[string]int{}
	for _, f := range g.fates {
		if !f.over() {
			return "", false
		}
		state := f.state
		if state == "failed" && f.OnError != "" {
			state = "ignored"
		}
		count[state]++
	}
	switch {
	case count["invalid"] > 0:
		return "PipelineValidationFailed", true
	case count["failed"] > 0:
		return "Failed", true
	case g.w.run.Spec.Status != "" || count["cancelled"] > 0:
		return "Cancelled", true
	case count["skipped"] > 0:
		return "Completed", true
	default:
		return "Succeeded", true
	}
}
