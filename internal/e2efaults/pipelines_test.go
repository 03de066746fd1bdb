//go:build e2e

package e2efaults

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"millrace/crds"
	"millrace/internal/faultproxy"
	"millrace/internal/simulation/apiserver"
)

// pipelines: a PipelineRun of two tasks, one after the other, killed at writes of
// its own: its status, and the TaskRuns that it makes.
func pipelines() []scenario {
	var all []scenario
	for _, of := range []struct {
		name string
		on   faultproxy.On
	}{
		{"first-status", faultproxy.On{Verb: "patch", Resource: "pipelineruns/status"}.Nth(1)},
		{"first-child", faultproxy.On{Verb: "create", Resource: crds.ResourceTaskRuns}.Nth(1)},
		{"second-child", faultproxy.On{Verb: "create", Resource: crds.ResourceTaskRuns}.Nth(2)},
		{"third-status", faultproxy.On{Verb: "patch", Resource: "pipelineruns/status"}.Nth(3)},
	} {
		for _, when := range moments {
			fault := faultproxy.Fault{On: of.on, Verdict: apiserver.Verdict{Fault: "killed at a write", Kill: when.at}}
			all = append(all, scenario{name: "pipeline-kill-9-at-" + of.name + "-" + when.word, numbers: []int{13}, try: pipelineKilled(fault)})
		}
		lost := faultproxy.Fault{On: of.on, Verdict: apiserver.Verdict{Fault: "connection breaks after the server acted", Lose: apiserver.BeforeAnswering}}
		all = append(all, scenario{name: "pipeline-answer-lost-" + of.name, numbers: []int{7}, try: pipelineDone(lost)})
	}
	return all
}

func pipelineKilled(fault faultproxy.Fault) func(*stage) {
	return func(s *stage) {
		s.start()
		first := s.now()
		over := s.plan(fault)
		s.createPipeline()
		s.dies(s.replica, first)
		s.pipelineSucceeds()
		over()
		s.recovered()
	}
}

func pipelineDone(fault faultproxy.Fault) func(*stage) {
	return func(s *stage) {
		s.start()
		over := s.plan(fault)
		s.createPipeline()
		s.pipelineSucceeds()
		over()
		s.recovered()
	}
}

func (s *stage) createPipeline() {
	s.t.Helper()
	task := func(name, after string) string {
		return fmt.Sprintf(`{name: %s, runAfter: [%s], taskSpec: {steps: [{name: s, image: busybox, script: "true"}]}}`, name, after)
	}
	s.post(s.ns, "pipelineruns", fmt.Sprintf(`{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: p}, spec: {managedBy: %s,
	  pipelineSpec: {tasks: [%s, %s]}}}`, s.ns, task("one", ""), task("two", "one")))
	s.made["p-one"], s.made["p-two"] = 1, 1
}

// pipelineSucceeds waits for the PipelineRun's end, and looks for its children on
// record: one for each task (I3).
func (s *stage) pipelineSucceeds() {
	s.t.Helper()
	var run crds.PipelineRun
	s.eventually("PipelineRun p to end", func() bool {
		raw, err := s.cluster.tekton.Get().Namespace(s.ns).Resource("pipelineruns").Name("p").Do(s.ctx).Raw()
		if err != nil || json.Unmarshal(raw, &run) != nil {
			return false
		}
		for _, c := range run.Status.Conditions {
			if c.Type == "Succeeded" && c.Status != corev1.ConditionUnknown {
				return true
			}
		}
		return false
	})
	if text := fmt.Sprint(run.Status.Conditions); !strings.Contains(text, "True") {
		s.fatalf("PipelineRun p: %s", text)
	}
	children := map[string]int{}
	for _, x := range s.proxy.Matching(faultproxy.On{Verb: "create", Resource: crds.ResourceTaskRuns}) {
		if x.Done() {
			children[x.Key.Name]++
		}
	}
	if len(children) != 2 || children["p-one"] != 1 || children["p-two"] != 1 {
		s.fatalf("duplicated or lost (I3): TaskRuns made: %v", children)
	}
}
