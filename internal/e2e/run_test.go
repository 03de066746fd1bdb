//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"millrace/internal/audit"
)

const controller = "system:serviceaccount:tekton-pipelines:millrace-controller"

func calls(t *testing.T, namespace string) map[string]int {
	t.Helper()
	log := os.Getenv("AUDIT_LOG")
	if log == "" {
		t.Fatal("AUDIT_LOG is not set: it names the audit log of the API server")
	}
	calls, err := audit.Calls(log, controller, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// slowStarts is how many calls it has cost a TaskRun that its pod had not started after eight
// seconds: one for each thing that it said it waits for, of which there is an event.
func (s space) slowStarts(name string) (calls int) {
	s.t.Helper()
	var events struct {
		Items []struct {
			Reason string
			Count  int
		}
	}
	eventually(s.t, "the last event of "+name, func() bool {
		told := s.must("get", "events", "--field-selector=involvedObject.kind=TaskRun,involvedObject.name="+name, "-o", "json")
		if err := json.Unmarshal([]byte(told), &events); err != nil {
			s.t.Fatal(err)
		}
		calls = 0
		ended := false
		for _, e := range events.Items {
			ended = ended || e.Reason == "Succeeded"
			if e.Reason == "Pending" {
				calls += e.Count
			}
		}
		return ended
	})
	return calls
}

func TestAOneStepRunCostsAtMostFiveCalls(t *testing.T) {
	s := newSpace(t)
	const step = `steps: [{name: s, image: busybox, script: "true"}]`
	s.create(`{apiVersion: tekton.dev/v1, kind: Task, metadata: {name: one}, spec: {` + step + `}}`)
	for name, task := range map[string]string{"embedded": `taskSpec: {` + step + `}`, "referenced": `taskRef: {name: one}`} {
		before := calls(t, s.ns)
		s.create(`{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: ` + name + `}, spec: {` + task + `}}`)
		s.untilReason(name, "Succeeded")
		time.Sleep(2 * time.Second) // what the controller still does after the end would show now
		made := calls(t, s.ns)
		total := 0
		for call, n := range made {
			made[call] = n - before[call]
			total += n - before[call]
		}
		t.Logf("%s: %v", name, made)
		if most := 5 + s.slowStarts(name); total > most || made["create pods"] != 1 {
			t.Errorf("%s: the controller made %d calls: %v", name, total, made)
		}
	}
}

const threeSteps = `
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: three}
spec:
  taskSpec:
    results: [{name: said}]
    steps:
    - {name: first, image: busybox, script: "sleep 4; echo first >>/workspace/order"}
    - {name: second, image: busybox, script: "echo second >>/workspace/order"}
    - {name: third, image: busybox, script: "tr '\n' ' ' </workspace/order >$(results.said.path)"}
`

func TestARunSurvivesKill9OfTheController(t *testing.T) {
	s := newSpace(t)
	s.create(strings.ReplaceAll(threeSteps, "sleep 4", "until [ -e /workspace/go ]; do sleep 1; done"))
	pod := s.until("three", "running its first step", firstStepRuns).Status.PodName
	killController(t)
	s.must("exec", pod, "-c", "step-first", "--", "touch", "/workspace/go")
	r := s.untilReason("three", "Succeeded")
	if len(r.Status.Results) != 1 || r.Status.Results[0].Value != "first second " {
		t.Errorf("results: %v", r.Status.Results)
	}
	if made := calls(t, s.ns); made["create pods"] != 1 {
		t.Errorf("pods created: %d, want 1 (%v)", made["create pods"], made)
	}
}

// The window that crashes are made for: the run is there, its pod may not be.
func TestKill9RightAfterCreateMakesOnePod(t *testing.T) {
	s := newSpace(t)
	for i, name := range []string{"a", "b", "c", "d"} {
		s.create(strings.ReplaceAll(threeSteps, "name: three", "name: "+name))
		if i%2 == 1 {
			killController(t)
		}
	}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.untilReason(name, "Succeeded")
	}
	if made := calls(t, s.ns); made["create pods"] > 6 { // four, and at most one repeat a kill that the name refuses
		t.Errorf("calls: %v", made)
	}
	if pods := strings.Fields(s.must("get", "pods", "-o", "name")); len(pods) != 4 {
		t.Errorf("pods: %v, want 4", pods)
	}
}

func TestAPodDeletedAfterAStepStartedFailsTheRun(t *testing.T) {
	s := newSpace(t)
	s.create(strings.ReplaceAll(threeSteps, "sleep 4", "sleep 300"))
	r := s.until("three", "running its first step", firstStepRuns)
	s.must("delete", "pod", r.Status.PodName, "--grace-period=0", "--force")
	s.untilReason("three", "PodDeleted")
	if made := calls(t, s.ns); made["create pods"] != 1 {
		t.Errorf("calls: %v", made)
	}
}

func TestAPodDeletedBeforeAnyStepIsMadeAgain(t *testing.T) {
	s := newSpace(t)
	s.create(`
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: waits}
spec:
  podTemplate: {nodeSelector: {no-node: has-this}}
  taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}
`)
	r := s.until("waits", "given a pod", func(r run) bool { return r.Status.PodName != "" })
	first := s.must("get", "pod", r.Status.PodName, "-o", "jsonpath={.metadata.uid}")
	s.must("delete", "pod", r.Status.PodName, "--grace-period=0", "--force")
	eventually(t, "a second pod", func() bool {
		second, err := kubectl("", "-n", s.ns, "get", "pod", r.Status.PodName, "-o", "jsonpath={.metadata.uid}")
		return err == nil && second != first
	})
	s.untilReason("waits", "Pending")
}

func TestCancel(t *testing.T) {
	s := newSpace(t)
	s.create(strings.ReplaceAll(threeSteps, "sleep 4", "sleep 300"))
	s.until("three", "running its first step", firstStepRuns)
	s.must("patch", "taskrun", "three", "--type=merge", "-p", `{"spec":{"status":"TaskRunCancelled","statusMessage":"enough"}}`)
	r := s.untilReason("three", "TaskRunCancelled")
	if !strings.Contains(r.Status.Conditions[0].Message, "enough") {
		t.Errorf("message: %s", r)
	}
	for _, step := range r.Status.Steps {
		if step.Terminated == nil || step.Terminated.ExitCode == 0 {
			t.Errorf("step %s of a cancelled run: %+v", step.Name, step)
		}
	}
}

func TestTheEntrypointComesByInitContainerToo(t *testing.T) {
	s := newSpace(t)
	set := func(value string) {
		s.kubectl("-n", "tekton-pipelines", "set", "env", "deployment/millrace-controller", "ENTRYPOINT_MODE"+value)
		s.rolledOut("tekton-pipelines")
	}
	set("=init-container")
	t.Cleanup(func() { set("-") })
	s.create(threeSteps)
	r := s.untilReason("three", "Succeeded")
	if got := s.must("get", "pod", r.Status.PodName, "-o", "jsonpath={.spec.initContainers[*].name}"); got != "prepare" {
		t.Errorf("init containers: %q, want prepare", got)
	}
}

func TestMetricsShowQueueDepthAndCacheSize(t *testing.T) {
	newSpace(t)
	var text string
	leads := `leader_election_master_status{name="millrace-controller"} 1`
	eventually(t, "a controller that leads", func() bool {
		var err error // the proxy may know of nobody yet, or still of one that has gone
		text, err = kubectl("", "get", "--raw", "/api/v1/namespaces/tekton-pipelines/services/millrace-controller:metrics/proxy/metrics")
		return err == nil && strings.Contains(text, leads)
	})
	for _, name := range []string{
		`workqueue_depth{name="taskrun"}`,
		`workqueue_adds_total{name="taskrun"}`,
		`informer_store_objects{resource="pods",tier="plain"}`,
		`informer_store_bytes{resource="taskruns",tier="plain"}`,
		`controller_runtime_reconcile_total{controller="taskrun",result="success"}`,
		`tekton_pipelines_controller_taskrun_total{status="success"}`,
		`tekton_pipelines_controller_pipelinerun_total{status="success"}`,
	} {
		if !strings.Contains(text, name) {
			t.Errorf("/metrics lacks %s", name)
		}
	}
}

// Linux takes no argument of more than 128 KiB; scripts reach a step as arguments.
func TestAScriptMayBeLargerThanAnArgument(t *testing.T) {
	s := newSpace(t)
	var script strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&script, "        count=$((count + 1)) # line %d of a long script\n", i)
	}
	s.create(`
apiVersion: tekton.dev/v1
kind: TaskRun
metadata: {name: long}
spec:
  taskSpec:
    steps:
    - name: s
      image: busybox
      script: |
        count=0
` + script.String() + `        [ "$count" = 6000 ]
`)
	s.untilReason("long", "Succeeded")
}
