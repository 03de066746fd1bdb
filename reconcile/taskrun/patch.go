package taskrun

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"millrace/crds"
)

// same compares two statuses by what the server would store of them. The
// generation that they tell of does not count: a spec that changed without
// consequence is no reason to write.
func same(a, b crds.TaskRunStatus) bool {
	a.ObservedGeneration = b.ObservedGeneration
	rawA, errA := json.Marshal(a)
	rawB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(rawA, rawB)
}

// statusPatch is the JSON merge patch (RFC 7386) that turns one status into the
// other on the object of exactly that resource version: it names only what
// changed, so that fields which this program does not know survive, and a write
// based on a stale view is refused.
func statusPatch(before, after crds.TaskRunStatus, resourceVersion string) ([]byte, error) {
	original, err := json.Marshal(before)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	modified, err := json.Marshal(after)
	if err != nil {
		return nil, fmt.Errorf("encode status: %w", err)
	}
	diff, err := jsonpatch.CreateMergePatch(original, modified)
	if err != nil {
		return nil, fmt.Errorf("compare statuses: %w", err)
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]string{"resourceVersion": resourceVersion},
		"status":   json.RawMessage(diff),
	})
}

func metadataPatch(change PatchMetadata, resourceVersion string) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": resourceVersion}
	if len(change.Labels) > 0 {
		metadata["labels"] = change.Labels
	}
	if len(change.Annotations) > 0 {
		metadata["annotations"] = change.Annotations
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}
