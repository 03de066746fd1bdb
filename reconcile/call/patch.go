package call

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
)

// Same compares two statuses by what the server would store of them.
func Same[T any](a, b T) bool {
	rawA, errA := json.Marshal(a)
	rawB, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(rawA, rawB)
}

// StatusPatch is the JSON merge patch (RFC 7386) that turns one status into the
// other on the object of exactly that resource version: it names only what
// changed, so that fields which this program does not know survive, and a write
// based on a stale view is refused.
func StatusPatch[T any](before, after T, resourceVersion string) ([]byte, error) {
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

// MetadataPatch is the merge patch that adds labels and annotations to the object
// of exactly that resource version.
func MetadataPatch(labels, annotations map[string]string, resourceVersion string) ([]byte, error) {
	metadata := map[string]any{"resourceVersion": resourceVersion}
	if len(labels) > 0 {
		metadata["labels"] = labels
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	return json.Marshal(map[string]any{"metadata": metadata})
}
