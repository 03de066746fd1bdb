package simulation

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// A pipelineRecipe is a kind of PipelineRun: what it executes, and what comes of it.
// To add one, add a function to pipelineRecipes. They are small, since many of them
// are in a storm.
type pipelineRecipe func(draw) (crds.PipelineRunSpec, Expect)

func pipelineRecipes() []pipelineRecipe { //nolint:ireturn // functions
	return []pipelineRecipe{released, forked, secondTry, cleanedUp, passedOver, outOfTime, eachOfTwo}
}

func executes(spec crds.PipelineSpec) crds.PipelineRunSpec {
	return crds.PipelineRunSpec{PipelineSpec: &spec}
}

// released executes the Pipeline "release" of the namespace.
func released(draw draw) (crds.PipelineRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	return crds.PipelineRunSpec{
		PipelineRef: &crds.PipelineRef{Name: "release"},
		Params:      crds.Params{{Name: "words", Value: crds.NewString(sleeping(work))}, {Name: "token", Value: crds.NewString(canary)}},
	}, Expect{Reason: succeeded, Work: 2 * work, Runs: map[string]int{"find": 1, "build": 1}, Results: "found=42"}
}

// release is the Pipeline that released refers to: it runs the Task "build".
func release(ns string) *crds.Pipeline {
	find := withParam(pipelineTask("find", "$(params.p)", "result=r=42"), "$(params.words)")
	p := &crds.Pipeline{Spec: crds.PipelineSpec{
		Params: crds.ParamSpecs{{Name: "words"}, {Name: "token"}},
		Tasks: []crds.PipelineTask{find, after(crds.PipelineTask{
			Name: "build", TaskRef: &crds.TaskRef{Name: "build"},
			Params: crds.Params{{Name: "words", Value: crds.NewString("$(params.words)")}, {Name: "token", Value: crds.NewString("$(params.token)")}},
		}, "find")},
		Results: []crds.PipelineResult{{Name: "found", Value: crds.NewString("$(tasks.find.results.r)")}},
	}}
	p.Namespace, p.Name = ns, "release"
	return p
}

func forked(draw draw) (crds.PipelineRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	return executes(crds.PipelineSpec{Tasks: []crds.PipelineTask{
		withParam(pipelineTask("left", sleeping(work)), "$(tasks.top.results.r)"),
		after(pipelineTask("right"), "top"),
		pipelineTask("top", sleeping(work), "result=r=t"),
	}}), Expect{Reason: succeeded, Work: 2 * work, Runs: map[string]int{"top": 1, "left": 1, "right": 1}}
}

func secondTry(draw draw) (crds.PipelineRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	shaky := pipelineTask("shaky", sleeping(work), "exit=5", "attempt=$(context.task.retry-count)", "result=r=$(context.task.retry-count)", "until=1")
	shaky.Retries = 2
	return executes(crds.PipelineSpec{
		Tasks:   []crds.PipelineTask{shaky},
		Results: []crds.PipelineResult{{Name: "attempt", Value: crds.NewString("$(tasks.shaky.results.r)")}},
	}), Expect{Reason: succeeded, Work: 3*work + 2*startOfPod, Runs: map[string]int{"shaky": 1}, Results: "attempt=1"}
}

func cleanedUp(draw draw) (crds.PipelineRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	return executes(crds.PipelineSpec{
		Tasks:   []crds.PipelineTask{pipelineTask("bad", sleeping(work), "exit=3"), after(pipelineTask("never"), "bad")},
		Finally: []crds.PipelineTask{withParam(pipelineTask("clean", "result=r=$(params.p)"), "$(tasks.bad.status) $(tasks.status)")},
		Results: []crds.PipelineResult{{Name: "told", Value: crds.NewString("$(finally.clean.results.r)")}},
	}), Expect{Reason: string(crds.PipelineRunReasonFailed), Work: work, Runs: map[string]int{"bad": 1, "clean": 1}, Results: "told=Failed Failed"}
}

func passedOver(draw draw) (crds.PipelineRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	guarded := pipelineTask("guarded")
	guarded.When = crds.WhenExpressions{{Input: "$(tasks.top.results.r)", Operator: crds.WhenIn, Values: []string{"other"}}}
	return executes(crds.PipelineSpec{
		Tasks:   []crds.PipelineTask{pipelineTask("top", sleeping(work), "result=r=t"), guarded, after(pipelineTask("rest"), "guarded")},
		Finally: []crds.PipelineTask{pipelineTask("clean")},
	}), Expect{Reason: string(crds.PipelineRunReasonCompleted), Work: work, Runs: map[string]int{"top": 1, "rest": 1, "clean": 1}}
}

func outOfTime(draw draw) (crds.PipelineRunSpec, Expect) {
	limit := draw(3*time.Second, 9*time.Second, "limit").Round(time.Second)
	spec := executes(crds.PipelineSpec{Tasks: []crds.PipelineTask{pipelineTask("endless", sleeping(time.Hour)), after(pipelineTask("never"), "endless")}})
	spec.Timeouts = &crds.TimeoutFields{Pipeline: &metav1.Duration{Duration: limit}}
	return spec, Expect{Reason: string(crds.PipelineRunReasonTimedOut), Work: limit, Runs: map[string]int{"endless": 1}}
}

func eachOfTwo(draw draw) (crds.PipelineRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	each := pipelineTask("each", sleeping(work), "result=r=$(params.os)")
	each.TaskSpec.Params = crds.ParamSpecs{{Name: "os"}}
	each.Matrix = &crds.Matrix{Params: crds.Params{{Name: "os", Value: crds.NewArray("linux", "mac")}}}
	return executes(crds.PipelineSpec{
		Tasks:   []crds.PipelineTask{each},
		Results: []crds.PipelineResult{{Name: "second", Value: crds.NewString("$(tasks.each.results.r[1])")}},
	}), Expect{Reason: succeeded, Work: work, Runs: map[string]int{"each": 2}, Results: "second=mac"}
}
