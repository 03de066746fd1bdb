package call

import (
	"encoding/json"
	"fmt"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"millrace/crds"
)

// Claim 3: what was put behind a list is in the patch, and not the list.
func TestAnAppendSaysWhatIsNew(t *testing.T) {
	refs := []crds.ChildStatusReference{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	before := crds.PipelineRunStatus{ChildReferences: refs[:1], SkippedTasks: []crds.SkippedTask{{Name: "s"}}, Conditions: crds.Conditions{{Type: "Succeeded", Reason: "Started"}}}
	after := before
	after.ChildReferences, after.SkippedTasks, after.Conditions = refs, nil, crds.Conditions{{Type: "Succeeded", Reason: "Running"}}
	patch, err := StatusAppend(before, after, "7")
	if err != nil {
		t.Fatal(err)
	}
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		t.Fatal(err)
	}
	for version, fits := range map[string]bool{"7": true, "8": false} {
		raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": version}, "unknown": "kept", "status": before})
		if err != nil {
			t.Fatal(err)
		}
		patched, err := operations.Apply(raw)
		if fits != (err == nil) {
			t.Errorf("on version %s: %v", version, err)
		}
		if !fits {
			continue
		}
		var got struct {
			Status  crds.PipelineRunStatus `json:"status"`
			Unknown string                 `json:"unknown"`
		}
		if err := json.Unmarshal(patched, &got); err != nil {
			t.Fatal(err)
		}
		if !Same(got.Status, after) || got.Unknown != "kept" {
			t.Errorf("%s makes %+v", patch, got)
		}
	}
}

// The hundredth element costs what the second did.
func TestAnAppendIsAsLongAsWhatIsAppended(t *testing.T) {
	refs := make([]crds.ChildStatusReference, 200)
	for i := range refs {
		refs[i].Name = fmt.Sprintf("run-%03d", i)
	}
	size := func(n int) int {
		patch, err := StatusAppend(crds.PipelineRunStatus{ChildReferences: refs[:n]}, crds.PipelineRunStatus{ChildReferences: refs[:n+1]}, "7")
		if err != nil || patch == nil {
			t.Fatalf("behind %d: %s %v", n, patch, err)
		}
		return len(patch)
	}
	if first, last := size(1), size(199); first != last {
		t.Errorf("%d bytes, and %d for the last", first, last)
	}
}

// A patch that would have to guess what the server has is not made.
func TestWhatIsNoAppendIsLeftToAMerge(t *testing.T) {
	refs := []crds.ChildStatusReference{{Name: "a"}, {Name: "b"}}
	one := crds.PipelineRunStatus{ChildReferences: refs[:1], ObservedGeneration: 1, Annotations: map[string]string{"a": "1"}}
	for name, change := range map[string]func(*crds.PipelineRunStatus){
		"nothing": func(*crds.PipelineRunStatus) {},
		"a copy": func(s *crds.PipelineRunStatus) {
			s.ChildReferences = []crds.ChildStatusReference{{Name: "a"}, {Name: "b"}}
		},
		"a map, too": func(s *crds.PipelineRunStatus) {
			s.ChildReferences, s.Annotations = refs, map[string]string{"a": "2"}
		},
	} {
		after := one
		change(&after)
		if patch, err := StatusAppend(one, after, "7"); patch != nil || err != nil {
			t.Errorf("%s: %s %v", name, patch, err)
		}
	}
	if patch, err := StatusAppend(crds.PipelineRunStatus{}, one, "7"); patch != nil || err != nil {
		t.Errorf("the first: %s %v", patch, err)
	}
}
