package simulation

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/simulation/turnstile"
)

// canary is a value that is to be found in pods, specs and results, and nowhere
// else.
const canary = "canary-5ecr3t"

// A recipe is a kind of TaskRun: what it runs, and what comes of it. The words of
// its steps are the kubelet's (see there). To add one, add a function to recipes.
type recipe func(draw func(low, high time.Duration, what string) time.Duration) (crds.TaskRunSpec, Expect)

type draw = func(low, high time.Duration, what string) time.Duration

const (
	succeeded = string(crds.TaskRunReasonSuccessful)
	failed    = string(crds.TaskRunReasonStepFailed)
	timedOut  = string(crds.TaskRunReasonTimedOut)
	cancelled = string(crds.TaskRunReasonCancelled)
)

func stepOf(name string, words ...string) crds.Step {
	return crds.Step{Name: name, Image: "registry.example.com/busybox", Command: []string{"sim"}, Args: words}
}

func embedded(steps ...crds.Step) crds.TaskRunSpec {
	return crds.TaskRunSpec{TaskSpec: &crds.TaskSpec{Steps: steps}}
}

func sleeping(d time.Duration) string { return "sleep=" + d.Round(time.Millisecond).String() }

func recipes() []recipe { //nolint:ireturn // functions
	return []recipe{oneStep, failingMiddle, withResults, fromTask, tooSlow, carriesOn, slowStep, scripted}
}

func oneStep(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 8*time.Second, "work")
	return embedded(stepOf("only", sleeping(work))), Expect{Reason: succeeded, Work: work}
}

func failingMiddle(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	return embedded(stepOf("first", sleeping(work)), stepOf("middle", sleeping(work), "exit=3"), stepOf("last", sleeping(work))),
		Expect{Reason: failed, Work: 2 * work}
}

func withResults(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	spec := embedded(stepOf("first", sleeping(work), "result=colour=red"), stepOf("second", "result=token="+canary, "result=undeclared=x"))
	spec.TaskSpec.Results = []crds.TaskResult{{Name: "colour"}, {Name: "token"}}
	return spec, Expect{Reason: succeeded, Work: work, Results: "colour=red,token=" + canary}
}

// fromTask runs the Task "build" of the namespace, which users edit.
func fromTask(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 6*time.Second, "work")
	return crds.TaskRunSpec{
		TaskRef: &crds.TaskRef{Name: "build"},
		Params:  crds.Params{{Name: "words", Value: crds.NewString(sleeping(work))}, {Name: "token", Value: crds.NewString(canary)}},
	}, Expect{Reason: succeeded, Work: work}
}

func tooSlow(draw draw) (crds.TaskRunSpec, Expect) {
	limit := draw(3*time.Second, 9*time.Second, "limit").Round(time.Second)
	spec := embedded(stepOf("endless", sleeping(time.Hour)))
	spec.Timeout = &metav1.Duration{Duration: limit}
	return spec, Expect{Reason: timedOut, Work: limit}
}

func carriesOn(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	first := stepOf("first", sleeping(work), "exit=7")
	first.OnError = crds.OnErrorContinue
	return embedded(first, stepOf("second")), Expect{Reason: succeeded, Work: work}
}

func slowStep(draw draw) (crds.TaskRunSpec, Expect) {
	slow := stepOf("slow", sleeping(time.Hour))
	limit := draw(time.Second, 5*time.Second, "limit").Round(time.Second)
	slow.Timeout = &metav1.Duration{Duration: limit}
	return embedded(slow, stepOf("never")), Expect{Reason: failed, Work: limit}
}

func scripted(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 5*time.Second, "work")
	return embedded(crds.Step{Name: "script", Image: "registry.example.com/busybox", Script: "#!/bin/sh\n" + sleeping(work) + "\nexit=0\n"}),
		Expect{Reason: succeeded, Work: work}
}

// build is the Task that fromTask refers to; its words change with each edition.
func build(ns string, edition int) *crds.Task {
	t := &crds.Task{Spec: crds.TaskSpec{
		Params: crds.ParamSpecs{{Name: "words"}, {Name: "token"}},
		Steps:  []crds.Step{stepOf("build", "$(params.words)", fmt.Sprint("edition=", edition), "--token=$(params.token)"), stepOf("pack")},
	}}
	t.Namespace, t.Name = ns, "build"
	return t
}

// drawer draws for one thing.
func drawer(seed turnstile.Seed, name string) draw {
	return func(low, high time.Duration, what string) time.Duration {
		return seed.Between(low, high, "recipe", name, what)
	}
}
