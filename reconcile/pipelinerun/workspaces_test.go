package pipelinerun

import (
	"testing"

	"millrace/crds"
	"millrace/reconcile/variables"
)

// A directory that a task asks for, by a result even, is one below that of the run's
// workspace, however it is spelled.
func TestASubPathStaysBelowThatOfTheRun(t *testing.T) {
	for asked, want := range map[string]string{
		"":              "team/a",
		"src":           "team/a/src",
		"src/../lib":    "team/a/lib",
		"../b":          "team/a/b",
		"src/../../../": "team/a",
		"/etc":          "team/a/etc",
		"..":            "team/a",
	} {
		w := newWorld(t, parse(t, `
metadata: {name: run}
spec:
  params: [{name: dir, value: "`+asked+`"}]
  workspaces: [{name: w, subPath: team/a, emptyDir: {}}]
  pipelineSpec:
    params: [{name: dir}]
    workspaces: [{name: w}]
    tasks:
    - name: a
      workspaces: [{name: w, subPath: $(params.dir)}]
      taskSpec: {workspaces: [{name: w}], steps: [{image: x}]}
`))
		w.reconcile()
		made := w.taskRuns["run-a"]
		if made == nil || len(made.Spec.Workspaces) != 1 || made.Spec.Workspaces[0].SubPath != want {
			t.Errorf("%q: %+v, want %q", asked, made, want)
		}
	}
	d := decision{observation: observation{Run: &crds.PipelineRun{}}}
	if b := d.bind(variables.New(), crds.WorkspaceBinding{}, "w", "../x"); b.SubPath != "x" {
		t.Errorf("of a workspace without a path of its own: %q", b.SubPath)
	}
}
