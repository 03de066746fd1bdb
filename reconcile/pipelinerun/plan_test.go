package pipelinerun

import (
	"testing"

	"sigs.k8s.io/yaml"

	"millrace/crds"
)

func parse(t testing.TB, text string) *crds.PipelineRun {
	t.Helper()
	run := &crds.PipelineRun{}
	if err := yaml.UnmarshalStrict([]byte(text), run); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestOneTask(t *testing.T) {
	w := newWorld(t, parse(t, `
metadata: {name: run}
spec:
  pipelineSpec:
    tasks:
    - name: build
      taskSpec: {steps: [{image: x, script: x}]}
`))
	for _, p := range w.reconcile() {
		t.Log(p)
	}
	w.end("run-build", "Succeeded")
	for _, p := range w.reconcile() {
		t.Log(p)
	}
	t.Log(text(w.run.Status))
}
