package taskrun

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
	"millrace/crds/validation"
	"millrace/internal/intime"
)

// Whatever is in a run, its status or a pod, a plan comes of it.
func TestNoObjectStopsThePlan(t *testing.T) {
	dashes := strings.Repeat("-", 60)
	yes := true
	mine := func(o *observation) {
		o.Pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "run-pod", OwnerReferences: []metav1.OwnerReference{{Kind: crds.KindTaskRun, Name: "run", UID: "u", Controller: &yes}}}}
	}
	for what, c := range map[string]struct {
		spec  string
		craft func(*observation)
	}{
		"a step whose name is all dashes":       {spec: "taskSpec: {steps: [{name: " + dashes + ", image: x, script: x}]}"},
		"what only begins to be a variable":     {spec: "params: [{name: p, value: $(}]\ntaskSpec: {steps: [{image: x, args: [$(], command: [$(], when: [{input: $(, operator: in, values: [$(]}]}]}"},
		"a pod before there is a task":          {spec: "taskRef: {name: gone}", craft: mine},
		"a pod of a run that refers to nothing": {spec: "{}", craft: mine},
		"a status whose task has no steps": {spec: "taskSpec: {steps: []}", craft: func(o *observation) {
			o.Run.Status.TaskSpec = &crds.TaskSpec{}
			o.LimitRanges = []corev1.LimitRange{{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, DefaultRequest: corev1.ResourceList{"cpu": {}}}}}}}
		}},
	} {
		t.Run(what, func(t *testing.T) {
			run := parseRun(t, c.spec)
			run.UID = "u"
			o := observation{Run: run, Mode: ModeImageVolume}
			if c.craft != nil {
				c.craft(&o)
			}
			t.Log(plan(o, time.Now(), Config{EntrypointImage: "entry"}))
		})
	}
}

// Beside Tekton, most runs say nothing of who manages them: they are Tekton's.
func TestRunOfNobodyIsTektonsWhereOursHaveAName(t *testing.T) {
	run := parseRun(t, "taskSpec: {steps: [{image: x, script: x}]}")
	p := plan(observation{Run: run}, time.Now(), Config{ManagedBy: []string{"millrace.dev/controller"}})
	if len(p.Actions) > 0 || p.Why != `the run is managed by "tekton.dev/pipeline"` {
		t.Error(p)
	}
}

// What becomes of another controller's run is not asked for, either.
func TestRunOfOthersCostsNoCall(t *testing.T) {
	c := newCluster(t, "metadata: {name: run}\nspec: {managedBy: others, taskRef: {name: not-there}}\nstatus: {taskSpec: {steps: [{image: x}]}, startTime: 2026-01-01T00:00:00Z}")
	c.settle(nil)
	if len(c.server.calls) > 0 {
		t.Error(c.server.calls)
	}
}

// A value that is named often would be more text than there is memory.
func TestWhatIsPutInHasAnEnd(t *testing.T) {
	value := crds.NewString(strings.Repeat("v", 100<<10))
	array := crds.NewArray(strings.Split(strings.Repeat("e", 20<<10), "")...)
	for _, spec := range []string{
		"taskSpec: {steps: [{image: x, script: '" + strings.Repeat("$(params.v)", 1000) + "'}]}",
		"taskSpec: {steps: [{image: x, script: x, args: [" + strings.Repeat("'$(params.a[*])',", 1000) + "]}]}",
		"taskSpec: {volumes: [{name: '" + strings.Repeat("$(params.v)", 1000) + "'}], steps: [{image: x, script: x}]}",
		"workspaces: [{name: w, subPath: '" + strings.Repeat("$(params.v)", 1000) + "', emptyDir: {}}]\ntaskSpec: {steps: [{image: x, script: x}]}",
	} {
		run := parseRun(t, spec)
		run.Spec.Params = crds.Params{{Name: "v", Value: value}, {Name: "a", Value: array}}
		began := time.Now()
		_, refused := resolve(run, nil, nil, Config{})
		if refused == nil || !strings.Contains(refused.message, "too large") {
			t.Errorf("%.60s: %.200v", spec, refused)
		}
		t.Log(time.Since(began), refused)
	}
}

// The pod template of the run is another way in.
func TestPodTemplateHasAnEnd(t *testing.T) {
	run := parseRun(t, "podTemplate: {env: [{name: A, value: '"+strings.Repeat("$(params.v)", 1000)+"'}]}\ntaskSpec: {steps: [{image: x, script: x}]}")
	run.Spec.Params = crds.Params{{Name: "v", Value: crds.NewString(strings.Repeat("v", 100<<10))}}
	b := blueprint{run: run, spec: run.Spec.TaskSpec, mode: ModeImageVolume}
	if _, refused := b.sketch(); refused == nil || !strings.Contains(refused.message, "spec.podTemplate") {
		t.Errorf("%.200v", refused)
	}
}

// So are many steps that all have what one place says.
func TestWhatAllStepsHaveIsWeighed(t *testing.T) {
	run := parseRun(t, "taskSpec: {stepTemplate: {args: ['"+strings.Repeat("a", 40<<10)+"']}, steps: ["+strings.Repeat("{image: x, script: x},", validation.MaxContainers)+"]}")
	b := blueprint{run: run, spec: run.Spec.TaskSpec, mode: ModeImageVolume}
	if _, refused := b.sketch(); refused == nil || !strings.Contains(refused.message, "too large") {
		t.Errorf("%.200v", refused)
	}
	run.Spec.TaskSpec.Steps = append(run.Spec.TaskSpec.Steps, run.Spec.TaskSpec.Steps[0])
	if _, refused := resolve(run, nil, nil, Config{}); refused == nil || !strings.Contains(refused.message, "the task has 101 steps and sidecars and can have 100 together") {
		t.Errorf("%.200v", refused)
	}
}

// As many steps as there may be can all say how they ended.
func TestMessageOfManyStepsFits(t *testing.T) {
	longest := `[{"key":"StartedAt","value":"2026-11-30T04:18:52.123Z","type":3},{"key":"Reason","value":"TimeoutExceeded","type":3}]`
	if size := messageSize(validation.MaxContainers + 2); size < len(longest) { // and prepare, and the collector
		t.Errorf("%d bytes for a message of %d", size, len(longest))
	}
}

// Wrong references are found in time that grows with the text.
func TestFaultsAreFoundInTime(t *testing.T) {
	unknown := parseRun(t, "taskSpec: {steps: [{image: x, script: x}]}")
	var text strings.Builder
	for i := range 80_000 {
		fmt.Fprintf(&text, "$(params.a%d)", i)
	}
	unknown.Spec.TaskSpec.Steps[0].Script = text.String()
	results := parseRun(t, "taskSpec: {steps: [{name: a, image: x, script: x, results: [{name: r}]}, {image: x, args: ['"+strings.Repeat("$(steps.a.results.r)", 60_000)+"']}]}")
	for what, run := range map[string]*crds.TaskRun{"unknown parameters": unknown, "results": results} {
		intime.Within(t, 10*time.Second, what, func() { _, _ = resolve(run, nil, nil, Config{}) })
	}
}

// A mount by another spelling, or by way of a workspace, is a mount all the same: over
// one of our directories it could give steps a turn that they do not have, or another
// entrypoint.
func TestNothingIsMountedOverOurDirectories(t *testing.T) {
	for spec, want := range map[string]string{
		"taskSpec: {steps: [{image: x, script: x, volumeMounts: [{name: v, mountPath: tekton/run}]}]}":                                                                                                    `spec.taskSpec.steps[0].volumeMounts[0].mountPath: Invalid value: "tekton/run": what is under /tekton is for the controller's own files, but for /tekton/home: choose another mountPath`,
		"taskSpec: {sidecars: [{image: x, volumeMounts: [{name: v, mountPath: ./tekton/bin}]}], steps: [{image: x, script: x}]}":                                                                          `spec.taskSpec.sidecars[0].volumeMounts[0].mountPath: Invalid value: "./tekton/bin": what is under /tekton is for the controller's own files, but for /tekton/home: choose another mountPath`,
		"workspaces: [{name: w, emptyDir: {}}]\ntaskSpec: {workspaces: [{name: w, mountPath: /tekton/run}], steps: [{image: x, script: x}]}":                                                              `spec.taskSpec.workspaces[0].mountPath: Invalid value: "/tekton/run": /tekton/run is for the controller's own files: choose another mountPath`,
		"workspaces: [{name: ../tekton/bin, emptyDir: {}}]\ntaskSpec: {steps: [{image: x, script: x}]}":                                                                                                   `spec.taskSpec.workspaces[0].mountPath: Invalid value: "/tekton/bin": /tekton/bin is for the controller's own files: choose another mountPath`,
		"workspaces: [{name: w, emptyDir: {}}]\ntaskSpec: {workspaces: [{name: w}], steps: [{image: x, script: x, workspaces: [{name: w, mountPath: //tekton/steps/step-a}]}]}":                           `spec.taskSpec.steps[0].workspaces[0].mountPath: Invalid value: "//tekton/steps/step-a": //tekton/steps/step-a is for the controller's own files: choose another mountPath`,
		"workspaces: [{name: w, emptyDir: {}}]\ntaskSpec: {workspaces: [{name: w}], sidecars: [{name: s, image: x, workspaces: [{name: w, mountPath: tekton/scripts}]}], steps: [{image: x, script: x}]}": `spec.taskSpec.sidecars[0].workspaces[0].mountPath: Invalid value: "tekton/scripts": tekton/scripts is for the controller's own files: choose another mountPath`,
		"workspaces: [{name: w, emptyDir: {}}]\ntaskSpec: {workspaces: [{name: w, mountPath: /tekton/home}], steps: [{image: x, script: x}]}":                                                             "",
		"workspaces: [{name: w, emptyDir: {}}]\ntaskSpec: {workspaces: [{name: w, mountPath: /tekton/custom}], steps: [{image: x, script: x}]}":                                                           "",
		"workspaces: [{name: w, emptyDir: {}}]\ntaskSpec: {workspaces: [{name: w, mountPath: /workspace}], steps: [{image: x, script: x}]}":                                                               "",
	} {
		_, refused := resolve(parseRun(t, spec), nil, nil, Config{})
		if got := message(refused); got != want {
			t.Errorf("%s:\n got %s\nwant %s", spec, got, want)
		}
	}
}

func message(r *refusal) string {
	if r == nil {
		return ""
	}
	return r.message
}
