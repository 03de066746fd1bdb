package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

// A pipelineStory is a PipelineRun, what users do to it, and what it comes to.
type pipelineStory struct {
	name   string
	spec   crds.PipelineSpec
	then   func(w *World, first time.Duration) // what users do besides; may be nil
	reason string
	runs   map[string]int // TaskRuns of each task; a task that is not named has none
	result string         // name=value, with commas
}

// pipelines are workloads of one PipelineRun each. Of its TaskRuns every invariant
// holds that holds of others; of itself, what pipelineJudge says.
func pipelines() []Workload {
	const first = 5 * time.Second
	stories := pipelineStories()
	all := make([]Workload, 0, len(stories))
	for _, s := range stories {
		all = append(all, Workload{
			Name: "pipeline: " + s.name,
			Users: func(w *World) {
				w.account("blue")
				w.does(first, "user run", "blue/p", func() {
					run := &crds.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "p"}, Spec: crds.PipelineRunSpec{PipelineSpec: &s.spec}}
					_, _ = w.user.Create("pipelineruns", run)
				})
				if s.then != nil {
					s.then(w, first)
				}
			},
			judge: s.judge,
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
			w.does(first+45*time.Second, "user cancels a run", "blue/p", func() {
				_, _ = w.user.Patch("pipelineruns", "", types.NamespacedName{Namespace: "blue", Name: "p"}, fmt.Sprintf(`{"spec":{"status":%q}}`, how))
			})
		}
	}
	return []pipelineStory{
		{name: "fan-out", spec: crds.PipelineSpec{Tasks: fan}, reason: "Succeeded", runs: once},
		{name: "diamond", spec: crds.PipelineSpec{
			Tasks: []crds.PipelineTask{
				after(pipelineTask("join", "sleep=1s", "result=r=joined"), "left", "right"),
				withParam(pipelineTask("left", "sleep=2s", "result=r=$(params.p)l"), "$(tasks.top.results.r)"),
				withParam(pipelineTask("right", "sleep=3s", "result=r=$(params.p)r"), "$(tasks.top.results.r)"),
				pipelineTask("top", "sleep=2s", "result=r=t"),
				guarded,
			},
			Results: []crds.PipelineResult{{Name: "both", Value: crds.NewString("$(tasks.left.results.r)$(tasks.right.results.r)")}},
		}, reason: "Completed", runs: map[string]int{"top": 1, "left": 1, "right": 1, "join": 1}, result: "both=tltr"},
		{name: "finally after a failure", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("bad", "sleep=2s", "exit=3"), pipelineTask("slow", "sleep=6s"), after(pipelineTask("never"), "bad")},
			Finally: []crds.PipelineTask{withParam(pipelineTask("clean", "sleep=1s", "result=r=$(params.p)"), "$(tasks.bad.status) $(tasks.status)")},
			Results: []crds.PipelineResult{{Name: "told", Value: crds.NewString("$(finally.clean.results.r)")}},
		}, reason: "Failed", runs: map[string]int{"bad": 1, "slow": 1, "clean": 1}, result: "told=Failed Failed"},
		{name: "retries", spec: crds.PipelineSpec{Tasks: []crds.PipelineTask{retried, after(pipelineTask("next", "sleep=1s"), "shaky")}},
			reason: "Succeeded", runs: map[string]int{"shaky": 1, "next": 1}},
		{name: "matrix", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{matrix, withParam(pipelineTask("gather", "sleep=1s"), "$(tasks.each.results.r[*])")},
			Results: []crds.PipelineResult{{Name: "all", Value: crds.NewString("$(tasks.each.results.r[1])")}},
		}, reason: "Succeeded", runs: map[string]int{"each": 3, "gather": 1}, result: "all=mac"},
		{name: "cancel", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("a", "sleep=30m"), pipelineTask("b", "sleep=30m"), after(pipelineTask("c"), "a")},
			Finally: []crds.PipelineTask{pipelineTask("clean", "sleep=1s")},
		}, then: cancels(crds.PipelineRunSpecStatusCancelled), reason: "Cancelled", runs: map[string]int{"a": 1, "b": 1}},
		{name: "cancel and run finally", spec: crds.PipelineSpec{
			Tasks:   []crds.PipelineTask{pipelineTask("a", "sleep=30m"), after(pipelineTask("c"), "a")},
			Finally: []crds.PipelineTask{pipelineTask("clean", "sleep=1s")},
		}, then: cancels(crds.PipelineRunSpecStatusCancelledRunFinally), reason: "Cancelled", runs: map[string]int{"a": 1, "clean": 1}},
		{name: "restart in the middle", spec: crds.PipelineSpec{Tasks: []crds.PipelineTask{
			pipelineTask("one", "sleep=4s", "result=r=1"), withParam(pipelineTask("two", "sleep=4s"), "$(tasks.one.results.r)"), after(pipelineTask("three", "sleep=1s"), "two"),
		}}, then: func(w *World, first time.Duration) {
			w.Agenda.After(first+7*time.Second, func() {
				if p := w.anyProcess("restart"); p != nil {
					w.tellToStop(p.actor)
				}
			})
		}, reason: "Succeeded", runs: map[string]int{"one": 1, "two": 1, "three": 1}},
	}
}

// judge is I2, I3, I4, I5 and I16 for the PipelineRun: it ends as it does without
// faults and stays so, no task of it runs twice, none before those that it follows have
// ended, and it has not ended before its TaskRuns have.
func (s pipelineStory) judge(_ *Facts, report report) Check {
	var run *crds.PipelineRun
	made, open := map[string]int{}, map[string]string{} // by task; task by TaskRun that has not ended
	return Check{
		See: func(e apiserver.Exchange) {
			if !e.Committed() {
				return
			}
			switch e.Resource {
			case "pipelineruns":
				before := run
				if e.After == nil {
					return
				}
				run = apiserver.Into[crds.PipelineRun](e.After)
				switch {
				case before != nil && before.IsDone() && program(e.Actor):
					report("%s had ended, and is written by %s", e.Key, e.Request)
				case run.IsDone() && len(open) > 0:
					report("%s has ended before %v", e.Key, open)
				}
			case "taskruns":
				s.seeTaskRun(e, made, open, report)
			}
		},
		End: func() { s.judgeEnd(run, made, report) },
	}
}

func (s pipelineStory) seeTaskRun(e apiserver.Exchange, made map[string]int, open map[string]string, report report) {
	if e.After == nil {
		return
	}
	tr := apiserver.Into[crds.TaskRun](e.After)
	task := tr.Labels["tekton.dev/pipelineTask"]
	if e.Before == nil {
		if made[task]++; made[task] > s.runs[task] {
			report("task %s has run %d of %d: %s", task, made[task], s.runs[task], e.Key)
		}
		for _, follows := range s.follows(task) {
			for name, other := range open {
				if other == follows {
					report("%s is made before %s has ended", e.Key, name)
				}
			}
		}
		open[tr.Name] = task
	}
	if tr.IsDone() {
		delete(open, tr.Name)
	}
}

// follows are the tasks that must have ended before one begins.
func (s pipelineStory) follows(task string) (names []string) {
	for _, t := range s.spec.Tasks {
		text := text(t)
		for _, other := range s.spec.Tasks {
			if t.Name == task && (slices.Contains(t.RunAfter, other.Name) || strings.Contains(text, "$(tasks."+other.Name+".")) {
				names = append(names, other.Name)
			}
		}
	}
	for _, t := range s.spec.Finally {
		for _, other := range s.spec.Tasks {
			if t.Name == task {
				names = append(names, other.Name)
			}
		}
	}
	return names
}

func (s pipelineStory) judgeEnd(run *crds.PipelineRun, made map[string]int, report report) {
	if run == nil {
		report("the PipelineRun was never made")
		return
	}
	c := run.Succeeded()
	if !run.IsDone() || c.Reason != s.reason {
		report("the PipelineRun is %s %s (%s), and %s without faults", c.Status, c.Reason, c.Message, s.reason)
	}
	for task, want := range s.runs {
		if made[task] != want {
			report("task %s has %d runs, and %d without faults", task, made[task], want)
		}
	}
	refs := 0
	for _, n := range made {
		refs += n
	}
	if len(run.Status.ChildReferences) != refs {
		report("%d TaskRuns were made, and the PipelineRun tells of %d", refs, len(run.Status.ChildReferences))
	}
	var results []string
	for _, r := range run.Status.Results {
		results = append(results, r.Name+"="+r.Value.StringVal)
	}
	if got := strings.Join(results, ","); got != s.result {
		report("the PipelineRun has the results %q, and %q without faults", got, s.result)
	}
}
