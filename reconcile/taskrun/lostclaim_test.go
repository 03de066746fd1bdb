package taskrun

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"millrace/crds"
)

// An attempt may have been seen to begin, and its pod have gone, before anything of
// that was written down; what it has written to the claim is lost all the same.
func TestAnAttemptThatWasOnlySeenToBeginHasUsedTheClaims(t *testing.T) {
	used := func(o observation) bool {
		t.Helper()
		p := plan(o, time.Unix(10_000, 0), Config{})
		return p.Actions[0].(PatchStatus).Status.Annotations[claimsAnnotation] == claimsInUse
	}
	outOfTime := func(bindings ...crds.WorkspaceBinding) *crds.TaskRun {
		run := &crds.TaskRun{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "uid"}}
		run.Spec.Retries, run.Spec.Workspaces = 1, bindings
		run.Status.StartTime = &metav1.Time{Time: time.Unix(1_000, 0)}
		run.Status.TaskSpec = &crds.TaskSpec{Workspaces: []crds.WorkspaceDeclaration{{Name: "source"}}}
		return run
	}
	own := crds.WorkspaceBinding{Name: "source", VolumeClaimTemplate: &corev1.PersistentVolumeClaim{}}
	somebodys := crds.WorkspaceBinding{Name: "source", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shared"}}

	if !used(observation{Run: outOfTime(own), PodSought: true, Witnessed: true}) {
		t.Error("the next attempt of a run whose first one had begun may have an empty claim")
	}
	if used(observation{Run: outOfTime(own), PodSought: true}) {
		t.Error("nothing had begun, and the next attempt may not have the claim made")
	}
	if used(observation{Run: outOfTime(somebodys), PodSought: true, Witnessed: true}) {
		t.Error("a run without claims of its own tells of them")
	}
}
