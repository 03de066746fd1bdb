package taskrun

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
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
