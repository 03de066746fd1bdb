package call

import (
	"testing"

	"millrace/crds"
)

// Claim 3: only what has changed is in the patch, and what was taken away is null.
func TestAStatusPatchNamesWhatHasChanged(t *testing.T) {
	before := crds.TaskRunStatus{PodName: "a", Annotations: map[string]string{"kept": "1", "gone": "2"}}
	after := crds.TaskRunStatus{PodName: "b", Annotations: map[string]string{"kept": "1"}}
	patch, err := StatusPatch(before, after, "7")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{"resourceVersion":"7"},"status":{"annotations":{"gone":null},"podName":"b"}}`; string(patch) != want {
		t.Errorf("patch %s, want %s", patch, want)
	}
	if Same(before, after) || !Same(before, before) {
		t.Error("what is the same is told wrongly")
	}
}

func TestAMetadataPatchLeavesOutWhatThereIsNot(t *testing.T) {
	patch, err := MetadataPatch(map[string]string{"a": "b"}, nil, "7")
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{"labels":{"a":"b"},"resourceVersion":"7"}}`; string(patch) != want {
		t.Errorf("patch %s, want %s", patch, want)
	}
}
