package call

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

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

// Whatever two statuses are, the patch makes one of the other: fields that come and go,
// lists that grow, objects of which one key changes, and what this program does not
// know is left alone.
func TestAStatusPatchMakesTheOneOfTheOther(t *testing.T) {
	condition := func(reason string) crds.Conditions {
		return crds.Conditions{{Type: "Succeeded", Status: "Unknown", Reason: reason}}
	}
	spec := &crds.TaskSpec{Description: "same", Steps: []crds.Step{{Name: "a"}}}
	statuses := []crds.TaskRunStatus{
		{},
		{PodName: "p", Conditions: condition("Started"), TaskSpec: spec},
		{PodName: "p", Conditions: condition("Running"), TaskSpec: spec, Steps: []crds.StepState{{Name: "a"}}},
		{PodName: "q", Conditions: condition("Running"), TaskSpec: &crds.TaskSpec{Description: "other"}, Annotations: map[string]string{"a": "1", "b": "2"}},
		{Conditions: condition("Failed"), TaskSpec: &crds.TaskSpec{Steps: []crds.Step{{Name: "b"}}}, Annotations: map[string]string{"b": "3"}, RetriesStatus: []crds.TaskRunStatus{{PodName: "p"}}},
	}
	for i, before := range statuses {
		for k, after := range statuses {
			object, err := json.Marshal(map[string]any{"status": before, "unknown": "kept"})
			if err != nil {
				t.Fatal(err)
			}
			patch, err := StatusPatch(before, after, "7")
			if err != nil {
				t.Fatal(err)
			}
			patched, err := jsonpatch.MergePatch(object, patch)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Status  crds.TaskRunStatus `json:"status"`
				Unknown string             `json:"unknown"`
			}
			if err := json.Unmarshal(patched, &got); err != nil {
				t.Fatal(err)
			}
			if !Same(got.Status, after) || got.Unknown != "kept" {
				t.Errorf("from %d to %d by %s: %+v", i, k, patch, got)
			}
			if !Same(statuses[i], before) || !Same(statuses[k], after) {
				t.Fatalf("from %d to %d: the statuses were changed", i, k)
			}
		}
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

// A patch says null for what is empty, so that every field of a status must be one that
// is left out then.
func TestAnEmptyStatusHasNoFields(t *testing.T) {
	for _, status := range []any{crds.TaskRunStatus{}, crds.PipelineRunStatus{}} {
		raw, err := json.Marshal(status)
		if err != nil || string(raw) != "{}" {
			t.Errorf("%T: %s, %v", status, raw, err)
		}
	}
}
