//go:build e2e

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// pipelineRun is the PipelineRun as it is now.
func (s space) pipelineRun(name string) (r run) {
	s.t.Helper()
	if err := json.Unmarshal([]byte(s.must("get", "pipelinerun", name, "-o", "json")), &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}

func (s space) untilPipelineRun(name, reason string) (last run) {
	s.t.Helper()
	eventually(s.t, "PipelineRun "+name+" to be "+reason, func() bool {
		last = s.pipelineRun(name)
		return last.reason() == reason
	})
	return last
}

// Five calls for the PipelineRun and four for its TaskRun, events aside; and what it costs that
// a pod is slow to start.
func TestAPipelineOfOneStepCostsAtMostNineCalls(t *testing.T) {
	s := newSpace(t)
	before := calls(t, s.ns)
	s.create(`
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: one}
spec: {pipelineSpec: {tasks: [{name: a, taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}}]}}
`)
	s.untilPipelineRun("one", "Succeeded")
	time.Sleep(2 * time.Second) // what the controller still does after the end would show now
	made, total := calls(t, s.ns), 0
	for call, n := range made {
		made[call] = n - before[call]
		total += made[call]
	}
	if most := 9 + s.slowStarts("one-a"); total > most || made["create pods"] != 1 || made["create taskruns"] != 1 {
		t.Errorf("the controller made %d calls: %v", total, made)
	}
}

const threeTasks = `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: three}
spec:
  pipelineSpec:
    results: [{name: all, value: $(tasks.third.results.said)}]
    tasks:
    - name: first
      taskSpec: {results: [{name: said}], steps: [{name: s, image: busybox, script: "sleep 4; printf first >$(results.said.path)"}]}
    - name: second
      params: [{name: p, value: $(tasks.first.results.said)}]
      taskSpec: {params: [{name: p}], results: [{name: said}], steps: [{name: s, image: busybox, script: "printf '$(params.p) second' >$(results.said.path)"}]}
    - name: third
      params: [{name: p, value: $(tasks.second.results.said)}]
      taskSpec: {params: [{name: p}], results: [{name: said}], steps: [{name: s, image: busybox, script: "printf '$(params.p) third' >$(results.said.path)"}]}
    finally:
    - name: last
      taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}
`

// Killed when the run is made, while its first task runs, and when the second one is
// there: each task runs once, and the run ends as if nothing had been.
func TestAPipelineSurvivesKill9OfTheController(t *testing.T) {
	s := newSpace(t)
	s.create(threeTasks)
	killController(t)
	s.untilMade("three-first")
	killController(t)
	s.untilMade("three-second")
	killController(t)
	r := s.untilPipelineRun("three", "Succeeded")
	if len(r.Status.Results) != 1 || r.Status.Results[0].Value != "first second third" {
		t.Errorf("results: %v", r.Status.Results)
	}
	if runs := strings.Fields(s.must("get", "taskruns", "-o", "name")); len(runs) != 4 {
		t.Errorf("TaskRuns: %v, want 4", runs)
	}
	if pods := strings.Fields(s.must("get", "pods", "-o", "name")); len(pods) != 4 {
		t.Errorf("pods: %v, want 4", pods)
	}
}

// untilMade waits for a TaskRun to be there.
func (s space) untilMade(name string) {
	s.t.Helper()
	eventually(s.t, "TaskRun "+name, func() bool {
		_, err := kubectl("", "-n", s.ns, "get", "taskrun", name)
		return err == nil
	})
}

// A cancelled run stops its tasks and says so when they have stopped; with
// CancelledRunFinally, what is in finally runs.
func TestCancelOfAPipeline(t *testing.T) {
	s := newSpace(t)
	for _, how := range []struct{ name, status, reason, last string }{
		{"all", "Cancelled", "Cancelled", ""},
		{"finally", "CancelledRunFinally", "Cancelled", "Succeeded"},
	} {
		s.create(strings.NewReplacer("name: three}", "name: "+how.name+"}", "sleep 4", "sleep 300").Replace(threeTasks))
		s.until(how.name+"-first", "running its step", firstStepRuns)
		s.must("patch", "pipelinerun", how.name, "--type=merge", "-p", `{"spec":{"status":"`+how.status+`"}}`)
		s.untilPipelineRun(how.name, how.reason)
		if first := s.get(how.name + "-first"); first.reason() != "TaskRunCancelled" {
			t.Errorf("%s: the task that ran is %s", how.status, first)
		}
		if how.last != "" && s.get(how.name+"-last").reason() != how.last {
			t.Errorf("%s: finally is %s", how.status, s.get(how.name+"-last"))
		}
		if _, err := kubectl("", "-n", s.ns, "get", "taskrun", how.name+"-second"); err == nil {
			t.Errorf("%s: the next task was begun", how.status)
		}
	}
}

// What kubectl shows, and what tkn looks for.
func TestAPipelineRunLooksAsTektons(t *testing.T) {
	s := newSpace(t)
	s.create(`
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: greet, labels: {team: red}}
spec: {tasks: [{name: hello, taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}}]}
`)
	s.create(`{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: seen}, spec: {pipelineRef: {name: greet}}}`)
	s.untilPipelineRun("seen", "Succeeded")
	if got := strings.Fields(strings.SplitN(s.must("get", "pr"), "\n", 2)[0]); strings.Join(got, " ") != "NAME SUCCEEDED REASON STARTTIME COMPLETIONTIME" {
		t.Errorf("columns: %v", got)
	}
	const labels = "tekton.dev/pipeline=greet,tekton.dev/pipelineRun=seen,tekton.dev/pipelineTask=hello,tekton.dev/memberOf=tasks,team=red"
	if got := s.must("get", "taskruns", "-l", labels, "-o", "name"); got != "taskrun.tekton.dev/seen-hello" {
		t.Errorf("TaskRuns with the labels that tkn looks for: %q", got)
	}
	if got := s.must("get", "pipelineruns", "-l", "tekton.dev/pipeline=greet,team=red", "-o", "name"); got != "pipelinerun.tekton.dev/seen" {
		t.Errorf("PipelineRuns with the labels that tkn looks for: %q", got)
	}
	eventually(t, "the events of a PipelineRun", func() bool {
		got := s.must("get", "events", "--field-selector=involvedObject.kind=PipelineRun", "--sort-by=.metadata.creationTimestamp", "-o", "jsonpath={.items[*].reason}")
		return got == "Started Running Succeeded"
	})
}
