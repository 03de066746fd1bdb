package pipelinerun

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// A run is told which of the claims that it is bound to were made for its pipeline, also
// through a pipeline in between, and of no others: who waits for a claim that is gone
// must know whether anybody will make it.
func TestARunIsToldWhichClaimsWereMadeForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {name: run}
spec:
  workspaces:
  - {name: source, volumeClaimTemplate: {metadata: {name: src}}}
  - {name: cache, volumeClaimTemplate: {metadata: {name: big}}}
  - {name: theirs, persistentVolumeClaim: {claimName: shared}}
  pipelineSpec:
    workspaces: [{name: source}, {name: cache}, {name: theirs}]
    tasks:
    - {name: both, workspaces: [{name: source}, {name: cache}], taskSpec: {steps: [{image: x}]}}
    - {name: none, workspaces: [{name: theirs}], taskSpec: {steps: [{image: x}]}}
    - name: within
      workspaces: [{name: source}]
      pipelineSpec:
        workspaces: [{name: source}]
        tasks: [{name: one, workspaces: [{name: source}], taskSpec: {steps: [{image: x}]}}]
`)
		c.settleAll()
		claim := func(name, template string) string {
			return claimName(c.pipelineRun("run").UID, crds.WorkspaceBinding{Name: name, VolumeClaimTemplate: &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: template}}})
		}
		source, cache := claim("source", "src"), claim("cache", "big")
		for name, want := range map[string]string{"run-both": source + "," + cache, "run-none": "", "run-within-one": source} {
			run := &crds.TaskRun{}
			check(json.Unmarshal(c.objects[crds.ResourceTaskRuns][name], run))
			if got := run.Annotations[annotationClaims]; got != want {
				t.Errorf("%s is told of %q, want %q", name, got, want)
			}
		}
	})
}
