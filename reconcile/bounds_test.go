package reconcile

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

type currentCache struct{}

func (*currentCache) WaitFor(context.Context, string) error { return nil }
func (*currentCache) Rewinds() int                          { return 0 }

// What only the inside can see: a gate does not remember keys for ever.
func TestAGateForgetsKeysThatOweNothing(t *testing.T) {
	g, cache := NewGate(), &currentCache{}
	for _, name := range []string{"a", "b", "c"} {
		key := types.NamespacedName{Name: name}
		g.Wrote(key, cache, "7")
		if name == "b" {
			g.Doubt(key)
		}
		if err := g.Wait(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		g.Clear(key)
	}
	if len(g.keys) != 0 {
		t.Errorf("%d keys are remembered", len(g.keys))
	}
}
