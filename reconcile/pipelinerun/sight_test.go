package pipelinerun

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"millrace/crds"
)

// Whatever children come, change and go between two looks, what is seen with the help of
// an earlier sight is what is seen without.
func TestASightKnowsWhatHasChangedSince(t *testing.T) {
	s := newServer(t)
	random := rand.New(rand.NewPCG(1, 2))
	var seen sight
	for round := range 300 {
		for range random.IntN(3) {
			name := fmt.Sprintf("run-%d", random.IntN(12))
			switch {
			case s.objects[crds.ResourceTaskRuns][name] == nil:
				s.insert(crds.ResourceTaskRuns, name, fmt.Appendf(nil, `{"kind":"TaskRun","metadata":{"name":%q,"ownerReferences":[{"controller":true,"kind":"PipelineRun","name":"run","uid":"u-run"}]}}`, name))
			case random.IntN(3) == 0:
				s.remove(crds.ResourceTaskRuns, name)
			default:
				s.patch(crds.ResourceTaskRuns, name, fmt.Sprintf(`{"status":{"conditions":[{"type":"Succeeded","status":"Unknown","reason":"r%d"}]}}`, round))
			}
		}
		seen = must(s.ofTask.of("u-run", seen))
		if fresh := must(s.ofTask.of("u-run", sight{})); !reflect.DeepEqual(seen.children, fresh.children) {
			t.Fatalf("round %d: %+v, want %+v", round, seen.children, fresh.children)
		}
	}
	if len(seen.children) == 0 {
		t.Error("there were no children to see")
	}
}
