package reconcile

import (
	"context"
	"strconv"
	"testing"
	"time"

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

// What only the inside can see: what is remembered of keys that run by themselves,
// and of what they wrote, is bounded, whatever becomes of their objects.
func TestWhatIsRememberedOfLoopsIsBounded(t *testing.T) {
	var l loops
	var e echoes
	now := time.Now()
	for i := range 10_000 {
		key := types.NamespacedName{Name: strconv.Itoa(i)}
		now = now.Add(10 * time.Millisecond)
		l.hot(key, true, now)
		e.note(key, strconv.Itoa(i))
	}
	if len(l.streaks) > 2*manyStreaks { // a thousand of them are of the last ten seconds
		t.Errorf("%d streaks, want at most %d", len(l.streaks), 2*manyStreaks)
	}
	if len(e.keys) > manyEchoes || len(e.order) > manyEchoes {
		t.Errorf("writes of %d keys, want at most %d", len(e.keys), manyEchoes)
	}
	last := types.NamespacedName{Name: "9999"}
	for i := range 100 {
		e.note(last, "again "+strconv.Itoa(i))
	}
	if own := e.take(last); len(own) != keptEchoes || own[keptEchoes-1] != "again 99" {
		t.Errorf("of one key these writes are known: %v", own)
	}
	if own := e.take(last); len(own) != 0 {
		t.Errorf("what was taken is still there: %v", own)
	}
}
