package simulation

import (
	"fmt"
	"strings"
	"time"

	"millrace/crds"
)

// A pipelineStory is a PipelineRun, what users do to it, and what it comes to.
type pipelineStory struct {
	name   string
	spec   crds.PipelineSpec
	path   string                              // of the pipeline, if it is in a repository
	alpha  bool                                // it needs enable-api-fields: alpha
	then   func(w *World, first time.Duration) // what users do besides; may be nil
	expect Expect
}

// pipelines are workloads of one PipelineRun each.
func pipelines() []Workload {
	const first = 5 * time.Second
	stories := pipelineStories()
	all := make([]Workload, 0, len(stories))
	for _, s := range stories {
		all = append(all, Workload{
			Name: "pipeline: " + s.name,
			Users: func(w *World) {
				w.account("blue")
				if s.path != "" {
					w.resolves(500 * time.Millisecond)
				}
				if s.alpha {
					w.flags(map[string]string{"enable-api-fields": "alpha"})
				}
				w.createsPipeline(first, "blue", "p", func(draw) (crds.PipelineRunSpec, Expect) {
					if s.path != "" {
						return crds.PipelineRunSpec{PipelineRef: &crds.PipelineRef{ResolverRef: fromRepository(s.path)}}, s.expect
					}
					return crds.PipelineRunSpec{PipelineSpec: &s.spec}, s.expect
				})
				if s.then != nil {
					s.then(w, first)
				}
			},
		})
	}
	return all
}

func pipelineTask(name string, words ...string) crds.PipelineTask {
	return crds.PipelineTask{Name: name, TaskSpec: &crds.EmbeddedTask{TaskSpec: crds.TaskSpec{
		Steps: []crds.Step{stepOf("only", words...)}, Results: []crds.TaskResult{{Name: "r"}},
	}}}
}

func after(t crds.PipelineTask, others ...string) crds.PipelineTask {
	t.RunAfter = others
	return t
}

func withParam(t crds.PipelineTask, value string) crds.PipelineTask {
	t.Params = crds.Params{{Name: "p", Value: crds.NewString(value)}}
	t.TaskSpec.Params = crds.ParamSpecs{{Name: "p", Type: crds.ParamTypeString}}
	if strings.HasSuffix(value, "[*])") {
		t.TaskSpec.Params[0].Type = crds.ParamTypeArray
	}
	return t
}

func pipelineStories() []pipelineStory {
	fan := make([]crds.PipelineTask, 20)
	once := map[string]int{}
	for i := range fan {
		fan[i] = pipelineTask(fmt.Sprint("t", i), "sleep=3s")
		once[fan[i].Name] = 1
	}
	retried := pipelineTask("shaky", "sleep=1s", "exit=5", "attempt=$(context.task.retry-count)", "until=1")
	retried.Retries = 2
	matrix := pipelineTask("each", "sleep=2s", "result=r=$(params.os)")
	matrix.TaskSpec.Params = crds.ParamSpecs{{Name: "os"}}
	matrix.Matrix = &crds.Matrix{Params: crds.Params{{Name: "os", Value: crds.NewArray("linux", "mac", "bsd")}}}
	guarded := pipelineTask("guarded", "sleep=1s")
	guarded.When = crds.WhenExpressions{{Input: "$(tasks.top.results.r)", Operator: crds.WhenIn, Values: []string{"other"}}}
	cancels := func(how crds.PipelineRunSpecStatus) func(*World, time.Duration) {
		return func(w *World, first time.Duration) { // a restart and what it has missed are over
			w.cancelsPipeline(first+45*time.Second, "blue", "p", how)
		}
	}
	within := crds.PipelineTask{Name: "within", PipelineSpec: &crds.PipelineSpec{
		Tasks: []crds.PipelineTask{
			pipelineTask("one", "sleep=3s", "result=r=1"), withParam(pipelineTask("two", "sleep=3s", "result=r=$(params.p)2"), "$(tasks.one.results.r)"),
		},
		Finally: []crds.PipelineTask{pipelineTask("clean", "sleep=1s")},
		Results: []crds.PipelineResult{{Name: "both", Value: crds.NewString("$(tasks.two.results.r)")}},
	}}
	long := crds.PipelineTask{Name: "within", PipelineSpec: &crds.PipelineSpec{Tasks: []crds.PipelineTask{pipelineTask("a", "sleep=30m")}}}
	return []pipelineStory{
		{name: "fan-out", spec: crds.PipelineSpec{Tasks: fan}, expect: Expect{Reason: succeeded, Runs: once}},
		{name: "diamond", spec: crds.PipelineSpec{
			Tasks: []crds.PipelineTask{
				after(pipelineTask("join", "sleep=1s", "result=r=joined"), "left", "right"),
				withParam(pipelineTask("left", "sleep=2s", "result=r=$(params.p)l"), "$(tasks.top.results.r)"),
				withParam(pipelineTask("right", "sleep=3s", "result=r=$(params.p)r"), "$(tasks.top.results.r)"),
				pipelineTask("top", "sleep=2s", "result=r=t"),
				guarded,
			},
			Results: []crds.PipelineResult{{Name: "both", Value: crds.NewString("$(tasks.left.results.r)$(tasks.right.results.r)")}},
		}, expect: Expect{Reason: "Completed", Runs: map[string]int{"top": 1, "left": 1, "right": 1, "join": 1}, Results: "both=tltr"}},
		{name: "finally after a failure", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("bad", "sleep=2s", "exit=3"), pipelineTask("slow", "sleep=6s"), after(pipelineTask("never"), "bad")},
			Finally: []crds.PipelineTask{withParam(pipelineTask("clean", "sleep=1s", "result=r=$(params.p)"), "$(tasks.bad.status) $(tasks.status)")},
			Results: []crds.PipelineResult{{Name: "told", Value: crds.NewString("$(finally.clean.results.r)")}},
		}, expect: Expect{Reason: "Failed", Runs: map[string]int{"bad": 1, "slow": 1, "clean": 1}, Results: "told=Failed Failed"}},
		{name: "retries", spec: crds.PipelineSpec{Tasks: []crds.PipelineTask{retried, after(pipelineTask("next", "sleep=1s"), "shaky")}},
			expect: Expect{Reason: succeeded, Runs: map[string]int{"shaky": 1, "next": 1}}},
		{name: "matrix", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{matrix, withParam(pipelineTask("gather", "sleep=1s"), "$(tasks.each.results.r[*])")},
			Results: []crds.PipelineResult{{Name: "all", Value: crds.NewString("$(tasks.each.results.r[1])")}},
		}, expect: Expect{Reason: succeeded, Runs: map[string]int{"each": 3, "gather": 1}, Results: "all=mac"}},
		{name: "cancel", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("a", "sleep=30m"), pipelineTask("b", "sleep=30m"), after(pipelineTask("c"), "a")},
			Finally: []crds.PipelineTask{pipelineTask("clean", "sleep=1s")},
		}, then: cancels(crds.PipelineRunSpecStatusCancelled), expect: Expect{Reason: "Cancelled", Runs: map[string]int{"a": 1, "b": 1}}},
		{name: "cancel and run finally", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("a", "sleep=30m"), after(pipelineTask("c"), "a")},
			Finally: []crds.PipelineTask{pipelineTask("clean", "sleep=1s")},
		}, then: cancels(crds.PipelineRunSpecStatusCancelledRunFinally), expect: Expect{Reason: "Cancelled", Runs: map[string]int{"a": 1, "clean": 1}}},
		{name: "a pipeline within", alpha: true, spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("before", "sleep=1s"), after(within, "before"), withParam(pipelineTask("behind", "sleep=1s", "result=r=$(params.p)"), "$(tasks.within.results.both)")},
			Results: []crds.PipelineResult{{Name: "told", Value: crds.NewString("$(tasks.behind.results.r)")}},
		}, expect: Expect{Reason: succeeded, Runs: map[string]int{"before": 1, "within": 1, "behind": 1}, Results: "told=12"}},
		{name: "a pipeline within is cancelled", alpha: true, spec: crds.PipelineSpec{Tasks: []crds.PipelineTask{long}},
			then: cancels(crds.PipelineRunSpecStatusCancelled), expect: Expect{Reason: "Cancelled", Runs: map[string]int{"within": 1}}},
		{name: "from a repository", path: "pipeline.yaml", expect: Expect{Reason: succeeded, Runs: map[string]int{"by-git": 1}, Results: "r=fetched"}},
		{name: "restart in the middle", spec: crds.PipelineSpec{Tasks: []crds.PipelineTask{
			pipelineTask("one", "sleep=4s", "result=r=1"), withParam(pipelineTask("two", "sleep=4s"), "$(tasks.one.results.r)"), after(pipelineTask("three", "sleep=1s"), "two"),
		}}, then: func(w *World, first time.Duration) {
			w.Agenda.After(first+7*time.Second, func() {
				if p := w.anyProcess("restart"); p != nil {
					w.tellToStop(p.actor)
				}
			})
		}, expect: Expect{Reason: succeeded, Runs: map[string]int{"one": 1, "two": 1, "three": 1}}},
	}
}
