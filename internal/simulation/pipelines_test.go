package simulation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"millrace/crds"
	"millrace/internal/simulation/apiserver"
)

var aPipelineRun = types.NamespacedName{Namespace: "blue", Name: "p"}

// plantedInPipelines are stories of a PipelineRun of two tasks, the second after the
// first.
var plantedInPipelines = map[string][]twins{
	"I2": {{
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "ends") },
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends") },
	}},
	"I3": {{
		func(l *tale) { l.pipeline("run", "a", "a ends", "b") },
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b again") },
	}, {
		func(l *tale) { l.pipeline("run", "a", "a ends", "b") },
		func(l *tale) { l.pipeline("run", "a", "b") },
	}, {
		// Of what nobody knows any more there may be another.
		func(l *tale) { l.madeAgain(true, nothing) },
		func(l *tale) { l.madeAgain(false, nothing) }, // who has made it lives
	}, {
		func(l *tale) { l.madeAgain(true, nothing) },
		func(l *tale) { l.madeAgain(true, func() { l.pipeline("told") }) }, // the PipelineRun tells of it
	}, {
		func(l *tale) { l.madeAgain(true, nothing) },
		func(l *tale) {
			l.madeAgain(true, func() { // and who comes next has seen the run, and so could find it
				l.facts.see(apiserver.Exchange{Request: apiserver.Request{Actor: successor, Verb: "list", Resource: "taskruns", Key: types.NamespacedName{Namespace: "blue"}}, Code: 200})
			})
		},
	}, {
		func(l *tale) { l.madeAgain(true, nothing) },
		func(l *tale) {
			l.madeAgain(true, func() { // or its watch has shown it
				child, _ := l.server.Object("taskruns", types.NamespacedName{Namespace: "blue", Name: "p-a"})
				l.facts.told(apiserver.Event{Watch: apiserver.Request{Actor: successor, Resource: "taskruns"}, Object: child})
			})
		},
	}},
	"I4": {{
		func(l *tale) { l.pipeline("run", "starts", "told", "ends") },
		func(l *tale) { l.pipeline("run", "starts", "starts again", "ends") },
	}, {
		func(l *tale) { l.pipeline("run", "starts", "ends") },
		func(l *tale) { l.pipeline("run", "starts", "ends", "goes on") },
	}, {
		func(l *tale) { l.pipeline("run", "starts", "ends") },
		func(l *tale) { l.pipeline("run", "starts", "ends before") },
	}, {
		func(l *tale) { l.pipeline("run", "frozen", "told") },
		func(l *tale) { l.pipeline("run", "frozen", "thawed") },
	}, {
		func(l *tale) { l.pipeline("run", "told", "ends") },
		func(l *tale) { l.pipeline("run", "told", "forgotten") },
	}},
	"I5": {{
		func(l *tale) { l.pipeline("run", "a", "a ends", "ends") },
		func(l *tale) { l.pipeline("run", "a", "ends") },
	}, {
		func(l *tale) { l.pipeline("run", "told", "ends") },
		func(l *tale) { l.pipeline("run", "ends", "told") },
	}},
	"I8": {{
		func(l *tale) { l.pipeline("run", "told") },
		func(l *tale) {
			l.pipeline("run")
			l.must(l.server.Actor(leader).Patch("pipelineruns", "status", aPipelineRun, `{"status":`+pipelineStatus["told"]+`}`))
		},
	}},
	"I10": {{
		func(l *tale) { l.pipeline("run"); l.scrapedPipelines(1) },
		func(l *tale) { l.pipeline("run"); l.scrapedPipelines(2) },
	}},
	"I12": {{
		func(l *tale) { l.pipeline("run", "starts") },
		func(l *tale) { l.pipeline("run", "tells") },
	}},
	"I16": {{
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "told", "ends") },
		func(l *tale) { l.pipeline("run", "a", "a ends", "told", "ends") }, // b has not run
	}, {
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "told", "ends") },
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "ends") }, // of children that it does not tell of
	}, {
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "told", "ends") },
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "told", "fails") },
	}, {
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "told", "ends") },
		func(l *tale) { l.pipeline("run", "a", "a ends", "b", "b ends", "told", "ends without") }, // its result
	}, {
		// It cannot tell of b, which went before anybody could hear that it had been made.
		func(l *tale) { l.unheard(nothing); l.pipeline("forgotten", "fails") },
		func(l *tale) {
			l.pipeline("run", "a", "a ends", "b")
			l.childGone("b")
			l.pipeline("forgotten", "fails")
		}, // that was heard
	}, {
		func(l *tale) { l.unheard(nothing); l.pipeline("told", "fails") },                               // nor is it wrong to tell of it
		func(l *tale) { l.unheard(func() { l.pipeline("goes on") }); l.pipeline("forgotten", "fails") }, // who was at the run then could find it
	}, {
		func(l *tale) { l.unheard(nothing); l.pipeline("forgotten", "fails") },
		func(l *tale) {
			l.unheard(func() { // and so could who asked
				l.facts.see(apiserver.Exchange{Request: apiserver.Request{Actor: successor, Verb: "list", Resource: "taskruns", Key: types.NamespacedName{Namespace: "blue"}}, Code: 200})
			})
			l.pipeline("forgotten", "fails")
		},
	}, {
		// Nor can it tell of what came when it had ended, and was under way before.
		func(l *tale) {
			l.pipeline("run", "a", "a ends", "forgotten", "ends")
			l.sent = time.Hour
			l.pipeline("b")
		},
		func(l *tale) { l.pipeline("run", "a", "a ends", "forgotten", "ends", "b") }, // but who knew of the end is not to make it
	}, {
		// Its second task need not begin if the first one fails while nobody knows of the run.
		func(l *tale) { l.onlyTheFirst("with c", "a", "c", nothing) },
		func(l *tale) {
			l.onlyTheFirst("with c", "a", "c", func() { // who is there has seen the run
				run, _ := l.server.Object("pipelineruns", aPipelineRun)
				l.facts.told(apiserver.Event{Watch: apiserver.Request{Actor: successor, Resource: "pipelineruns"}, Object: run})
			})
		},
	}, {
		func(l *tale) { l.onlyTheFirst("with c", "a", "c", nothing) },
		func(l *tale) {
			l.onlyTheFirst("with c", "a", "c", func() { // and so has who lists it
				l.facts.see(apiserver.Exchange{Request: apiserver.Request{Actor: successor, Verb: "list", Resource: "pipelineruns"}, Code: 200})
			})
		},
	}, {
		func(l *tale) { l.onlyTheFirst("with c", "a", "c", nothing) },
		func(l *tale) { l.onlyTheFirst("with c", "a", "c", func() { l.pipeline("goes on") }) }, // who made the first is there yet
	}, {
		func(l *tale) { l.onlyTheFirst("with c", "a", "c", nothing) },
		func(l *tale) { l.onlyTheFirst("with c", "a", "", nothing) }, // nor was what is run at the end
	}, {
		func(l *tale) { l.onlyTheFirst("with c", "a", "c", nothing) },
		func(l *tale) { l.onlyTheFirst("with c, whatever becomes of a", "a", "c", nothing) }, // whose failure stops nothing
	}},
}

// successor is the process after the leader.
const successor = "millrace-0.2"

func nothing() {}

// unheard is a run of a, which ends, and of b, whose maker does not hear that it was made.
// Then something happens, and b goes.
func (l *tale) unheard(meanwhile func()) {
	l.Helper()
	l.pipeline("run", "a", "a ends")
	l.deaf = true
	l.pipeline("b")
	l.deaf = false
	meanwhile()
	l.childGone("b")
}

// madeAgain is a run of a, whose maker dies or does not. Something happens, a goes, and is made
// again by the next process.
func (l *tale) madeAgain(dies bool, meanwhile func()) {
	l.Helper()
	l.pipeline("run", "a")
	meanwhile()
	l.facts.dead[leader] = dies
	l.childGone("a")
	l.must(l.server.Actor(successor).Create("taskruns", l.childOf("a")))
}

func (l *tale) childGone(task string) {
	l.Helper()
	l.must(l.server.Actor("user").Delete("taskruns", types.NamespacedName{Namespace: "blue", Name: "p-" + task}, metav1.DeleteOptions{}))
}

// onlyTheFirst is a run of a and b, and c at the end, as spec has it. The leader makes a, then something
// happens, its successor writes that a has failed, makes c if it makes any, and ends the
// run without b.
func (l *tale) onlyTheFirst(spec, first, last string, meanwhile func()) {
	l.Helper()
	run := twoTasks()
	run.Annotations = Expect{Reason: string(crds.PipelineRunReasonFailed), Runs: map[string]int{"a": 1, "b": 1, "c": 1}}.annotation()
	l.must(l.server.Actor("user").Create("pipelineruns", run))
	l.pipeline(spec, first)
	meanwhile()
	const fails = `"conditions":[{"type":"Succeeded","status":"False","reason":"Failed"}]}}`
	l.must(l.server.Actor(successor).Patch("taskruns", "status", types.NamespacedName{Namespace: "blue", Name: "p-" + first}, `{"status":{`+fails))
	told := `{"name":"p-a"}`
	if last != "" {
		l.must(l.server.Actor(successor).Create("taskruns", l.childOf(last)))
		told += `,{"name":"p-c"}`
	}
	l.must(l.server.Actor(successor).Patch("pipelineruns", "status", aPipelineRun, `{"status":{"childReferences":[`+told+`],"completionTime":"2026-01-01T00:00:09Z",`+fails))
}

// What did not begin is told apart from what was not made.
func TestWhatDidNotBeginIsAnEnd(t *testing.T) {
	for want, meanwhile := range map[string]func(l *tale) func(){
		notBegun: func(*tale) func() { return nothing },
		"":       func(l *tale) func() { return func() { l.pipeline("goes on") } },
	} {
		l := tell(t, "I16")
		l.onlyTheFirst("with c", "a", "c", meanwhile(l))
		ends := (&Result{Facts: l.facts}).ends()
		if got := ends[types.NamespacedName{Namespace: "blue", Name: "p-b"}].Reason; got != want {
			t.Errorf("it came to %q, not %q", got, want)
		}
		if x := (exception{workload: "w", reason: notBegun, pods: -1}); x.covers("w", end{Reason: succeeded, Attempts: 1, Pods: 1}, end{}) {
			t.Error("what was not made is taken for what did not begin")
		}
	}
}

// pipelineStatus is what the program writes of a PipelineRun, by what happens.
var pipelineStatus = map[string]string{
	"starts":                        `{"startTime":"2026-01-01T00:00:05Z"}`,
	"starts again":                  `{"startTime":"2026-01-01T00:00:06Z"}`,
	"frozen":                        `{"pipelineSpec":{"tasks":[{"name":"a"},{"name":"b"}]}}`,
	"thawed":                        `{"pipelineSpec":{"tasks":[{"name":"a"}]}}`,
	"with c":                        `{"pipelineSpec":{"tasks":[{"name":"a"},{"name":"b"}],"finally":[{"name":"c"}]}}`,
	"with c, whatever becomes of a": `{"pipelineSpec":{"tasks":[{"name":"a","onError":"continue"},{"name":"b"}],"finally":[{"name":"c"}]}}`,

	"told":         `{"childReferences":[{"name":"p-a"},{"name":"p-b"}]}`,
	"forgotten":    `{"childReferences":[{"name":"p-a"}]}`,
	"tells":        `{"conditions":[{"type":"Succeeded","status":"Unknown","reason":"Running","message":"` + canary + `"}]}`,
	"goes on":      `{"conditions":[{"type":"Succeeded","status":"Unknown","reason":"Running"}]}`,
	"ends":         `{"completionTime":"2026-01-01T00:00:09Z","results":[{"name":"r","value":"1"}],"conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`,
	"ends before":  `{"completionTime":"2026-01-01T00:00:04Z","conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`,
	"ends without": `{"completionTime":"2026-01-01T00:00:09Z","conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}`,
	"fails":        `{"completionTime":"2026-01-01T00:00:09Z","results":[{"name":"r","value":"1"}],"conditions":[{"type":"Succeeded","status":"False","reason":"Failed"}]}`,
}

// pipeline has things happen to a PipelineRun, one after the other: "run" creates it,
// the name of a task makes a TaskRun of it, "a ends" ends that.
func (l *tale) pipeline(events ...string) {
	l.Helper()
	for _, event := range events {
		task, ends := strings.CutSuffix(event, " ends")
		status, told := pipelineStatus[event]
		switch {
		case event == "run":
			l.must(l.server.Actor("user").Create("pipelineruns", twoTasks()))
		case told:
			o, _ := l.server.Object("pipelineruns", aPipelineRun)
			l.must(l.server.Actor(leader).Patch("pipelineruns", "status", aPipelineRun, `{"metadata":{"resourceVersion":"`+o.GetResourceVersion()+`"},"status":`+status+`}`))
		case ends:
			child := types.NamespacedName{Namespace: "blue", Name: "p-" + task}
			o, _ := l.server.Object("taskruns", child)
			l.must(l.server.Actor(leader).Patch("taskruns", "status", child, `{"metadata":{"resourceVersion":"`+o.GetResourceVersion()+`"},"status":{"startTime":"2026-01-01T00:00:05Z","completionTime":"2026-01-01T00:00:06Z","conditions":[{"type":"Succeeded","status":"True","reason":"Succeeded"}]}}`))
		default:
			l.must(l.server.Actor(leader).Create("taskruns", l.childOf(event)))
		}
	}
}

func twoTasks() *crds.PipelineRun {
	expect := Expect{Reason: succeeded, Runs: map[string]int{"a": 1, "b": 1}, Results: "r=1"}
	run := &crds.PipelineRun{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "p", Annotations: expect.annotation()}}
	run.Spec.PipelineSpec = &crds.PipelineSpec{Tasks: []crds.PipelineTask{pipelineTask("a"), after(pipelineTask("b"), "a")}}
	return run
}

// childOf is a TaskRun for a task, whose name is the first word.
func (l *tale) childOf(event string) *crds.TaskRun {
	task, _, _ := strings.Cut(event, " ")
	run, _ := l.server.Object("pipelineruns", aPipelineRun)
	yes := true
	child := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{
		Namespace: "blue", Name: "p-" + strings.ReplaceAll(event, " ", "-"), Labels: map[string]string{"tekton.dev/pipelineTask": task},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "tekton.dev/v1", Kind: "PipelineRun", Name: "p", UID: run.GetUID(), Controller: &yes}},
	}}
	child.Spec.TaskSpec = &crds.TaskSpec{Steps: []crds.Step{stepOf("only")}}
	return child
}

func (l *tale) scrapedPipelines(depth int) {
	l.facts.Held = map[string]int{"pipelineruns": len(l.server.Objects("pipelineruns"))}
	l.facts.Metrics = map[string]string{"millrace-0": "workqueue_depth{name=\"pipelinerun\"} " + string(rune('0'+depth)) + "\n"}
}
