package crds

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestStateOfAPipelineRun(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]struct{ done, successful, failed bool }{
		"":                      {},
		corev1.ConditionUnknown: {},
		corev1.ConditionTrue:    {done: true, successful: true},
		corev1.ConditionFalse:   {done: true, failed: true},
	} {
		var pr PipelineRun
		if status != "" {
			pr.Status.Conditions.Set(Condition{Type: ConditionSucceeded, Status: status}, noon)
		}
		if pr.IsDone() != want.done || pr.IsSuccessful() != want.successful || pr.IsFailed() != want.failed {
			t.Errorf("%q: done %t, successful %t, failed %t", status, pr.IsDone(), pr.IsSuccessful(), pr.IsFailed())
		}
	}
}

// Each of the four things that a user may ask is told from the three others.
func TestWhatIsAskedOfAPipelineRun(t *testing.T) {
	for status, want := range map[PipelineRunSpecStatus][4]bool{
		"":                                       {},
		PipelineRunSpecStatusCancelled:           {0: true},
		PipelineRunSpecStatusCancelledRunFinally: {1: true},
		PipelineRunSpecStatusStoppedRunFinally:   {2: true},
		PipelineRunSpecStatusPending:             {3: true},
	} {
		pr := PipelineRun{Spec: PipelineRunSpec{Status: status}}
		got := [4]bool{pr.IsCancelled(), pr.IsGracefullyCancelled(), pr.IsGracefullyStopped(), pr.IsPending()}
		if got != want {
			t.Errorf("%q reads as %v, want %v", status, got, want)
		}
	}
}

// A task given in place is either steps or somebody else's, whose spec is kept as
// it was written.
func TestACustomTaskKeepsItsSpec(t *testing.T) {
	const text = `{"apiVersion":"example.com/v1","kind":"Wait","spec":{"b":[1,{"deep":null}],"a":"x"}}`
	var task EmbeddedTask
	if err := json.Unmarshal([]byte(text), &task); err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	if !task.IsCustom() || string(written) != text {
		t.Errorf("custom %t, written %s", task.IsCustom(), written)
	}
	if (&EmbeddedTask{TaskSpec: TaskSpec{Steps: []Step{{Image: "busybox"}}}}).IsCustom() {
		t.Error("steps are taken for a custom task")
	}
}
