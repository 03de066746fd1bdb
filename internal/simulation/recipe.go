package simulation

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/internal/simulation/kubelet"
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
	return []recipe{
		oneStep, failingMiddle, withResults, fromTask, tooSlow, carriesOn, slowStep, scripted, stepResults, fromAction,
		thirdTime, inVain, twiceTooSlow, secondTimeInTime,
		withSidecar, sidecarThatRecovers, sidecarThatNeverComes, sidecarOutOfMemory, stubbornSidecar,
		ownClaim, sharedClaim,
	}
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
	return endless(draw(3*time.Second, 9*time.Second, "limit").Round(time.Second))
}

// endless is what has so much time, and would take an hour.
func endless(limit time.Duration) (crds.TaskRunSpec, Expect) {
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

// stepResults have one step begin with what another has found, and the task tell of it.
func stepResults(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	look := stepOf("look", sleeping(work), "step-result=colour=green", "step-result=token="+canary)
	look.Results = []crds.StepResult{{Name: "colour"}, {Name: "token"}}
	spec := embedded(look, stepOf("tell", "result=said=$(steps.look.results.colour)", "--token=$(steps.look.results.token)"))
	from := crds.NewString("$(steps.look.results.colour)")
	spec.TaskSpec.Results = []crds.TaskResult{{Name: "said"}, {Name: "seen", Value: &from}}
	return spec, Expect{Reason: succeeded, Work: work, Results: "said=green,seen=green"}
}

// fromAction runs the StepAction "greet" of the namespace.
func fromAction(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	ref := crds.Step{Name: "greet", Ref: &crds.Ref{Name: "greet"}, Params: crds.Params{{Name: "whom", Value: crds.NewString("world")}, {Name: "words", Value: crds.NewString(sleeping(work))}}}
	spec := embedded(ref, stepOf("after"))
	from := crds.NewString("$(steps.greet.results.greeting)")
	spec.TaskSpec.Results = []crds.TaskResult{{Name: "greeting", Value: &from}}
	return spec, Expect{Reason: succeeded, Work: work, Results: "greeting=hello-world"}
}

// greet is the StepAction that fromAction refers to.
func greet(ns string) *crds.StepAction {
	a := &crds.StepAction{Spec: crds.StepActionSpec{
		Image: "registry.example.com/busybox", Command: []string{"sim"}, Args: []string{"$(params.words)", "step-result=greeting=hello-$(params.whom)"},
		Params:  crds.ParamSpecs{{Name: "whom"}, {Name: "words"}},
		Results: []crds.StepResult{{Name: "greeting"}},
	}}
	a.Namespace, a.Name = ns, "greet"
	return a
}

// again has a run tried again, up to so many times. Its steps do badly in attempts
// before until.
func again(spec crds.TaskRunSpec, retries, until int) crds.TaskRunSpec {
	spec.Retries = retries
	first := &spec.TaskSpec.Steps[0]
	first.Args = append(first.Args, "attempt=$(context.task.retry-count)", "result=attempt=$(context.task.retry-count)", fmt.Sprint("until=", until))
	spec.TaskSpec.Results = []crds.TaskResult{{Name: "attempt"}}
	return spec
}

func thirdTime(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	return again(embedded(stepOf("try", sleeping(work), "exit=5"), stepOf("rest", sleeping(work))), 2, 2),
		Expect{Reason: succeeded, Work: 6 * work, Attempts: 3, Results: "attempt=2"}
}

func inVain(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 3*time.Second, "work")
	return again(embedded(stepOf("try", sleeping(work), "exit=5")), 1, 9), Expect{Reason: failed, Work: 2 * work, Attempts: 2, Results: "attempt=1"}
}

// twiceTooSlow has a time for each attempt.
func twiceTooSlow(draw draw) (crds.TaskRunSpec, Expect) {
	spec, expect := tooSlow(draw)
	spec.Retries = 1
	return spec, Expect{Reason: expect.Reason, Work: 2 * expect.Work, Attempts: 2}
}

// secondTimeInTime is too slow for its step's own time-out once. A run's time-out
// would not do here: faults alone may make an attempt too slow for it.
func secondTimeInTime(draw draw) (crds.TaskRunSpec, Expect) {
	limit := draw(time.Second, 4*time.Second, "limit").Round(time.Second)
	step := stepOf("try", "hang")
	step.Timeout = &metav1.Duration{Duration: limit}
	return again(embedded(step), 2, 1), Expect{Reason: succeeded, Work: 3 * limit, Attempts: 2, Results: "attempt=1"}
}

// beside adds a sidecar that is ready when it says so.
func beside(spec crds.TaskRunSpec, words ...string) crds.TaskRunSpec {
	spec.TaskSpec.Sidecars = append(spec.TaskSpec.Sidecars, crds.Sidecar{
		Name: "server", Image: "registry.example.com/server", Command: []string{"sim"}, Args: words, ReadinessProbe: &corev1.Probe{PeriodSeconds: 1},
	})
	return spec
}

func withSidecar(draw draw) (crds.TaskRunSpec, Expect) {
	work, ready := draw(0, 4*time.Second, "work"), draw(0, 4*time.Second, "ready")
	spec := beside(embedded(stepOf("first", sleeping(work)), stepOf("second", sleeping(work))), "ready="+ready.String())
	// Another one, of which nobody asks whether it is ready.
	spec.TaskSpec.Sidecars = append(spec.TaskSpec.Sidecars, crds.Sidecar{Name: "logger", Image: "registry.example.com/logger", Script: "exit=0"})
	return spec, Expect{Reason: succeeded, Work: 2*work + ready + 2*time.Second}
}

// sidecarThatRecovers ends badly twice before its steps begin.
func sidecarThatRecovers(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	return beside(embedded(stepOf("only", sleeping(work))), "exit=1", "until=2", "ready=500ms"), Expect{Reason: succeeded, Work: work + 20*time.Second}
}

func sidecarThatNeverComes(draw draw) (crds.TaskRunSpec, Expect) {
	return beside(embedded(stepOf("never")), "exit=4", "ready=never"), Expect{Reason: string(crds.TaskRunReasonSidecarFailed), Work: 45 * time.Second}
}

func sidecarOutOfMemory(draw draw) (crds.TaskRunSpec, Expect) {
	return beside(embedded(stepOf("never")), "oom", "ready=never"), Expect{Reason: string(crds.TaskRunReasonSidecarOOM), Work: 45 * time.Second}
}

// stubbornSidecar does not stop when it is told to: that keeps its pod for half a
// minute, and nobody else.
func stubbornSidecar(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	return again(beside(embedded(stepOf("try", sleeping(work), "exit=2")), "stubborn", "ready=100ms"), 1, 1),
		Expect{Reason: succeeded, Work: 2*work + 4*time.Second, Attempts: 2, Results: "attempt=1"}
}

// bound gives a workspace to all steps.
func bound(spec crds.TaskRunSpec, to crds.WorkspaceBinding) crds.TaskRunSpec {
	to.Name = "source"
	spec.TaskSpec.Workspaces = append(spec.TaskSpec.Workspaces, crds.WorkspaceDeclaration{Name: to.Name})
	spec.Workspaces = append(spec.Workspaces, to)
	return spec
}

// ownClaim has a claim made for the run, which both of its attempts use.
func ownClaim(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	template := &corev1.PersistentVolumeClaim{Spec: aGibibyte()}
	if draw(0, 2, "class") == 1 {
		class := kubelet.FirstConsumer
		template.Spec.StorageClassName = &class
	}
	return bound(again(embedded(stepOf("try", sleeping(work), "exit=1")), 1, 1), crds.WorkspaceBinding{VolumeClaimTemplate: template}),
		Expect{Reason: succeeded, Work: 2*work + 6*time.Second, Attempts: 2, Results: "attempt=1", Claims: 1}
}

// aGibibyte is the least that a claim must say.
func aGibibyte() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// sharedClaim uses the claim "shared" of the namespace.
func sharedClaim(draw draw) (crds.TaskRunSpec, Expect) {
	work := draw(0, 4*time.Second, "work")
	to := crds.WorkspaceBinding{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}, SubPath: "here"}
	return bound(embedded(stepOf("only", sleeping(work))), to), Expect{Reason: succeeded, Work: work + 6*time.Second}
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
