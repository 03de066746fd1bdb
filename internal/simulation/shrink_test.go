package simulation

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// Two faults of forty break it together; nothing else matters.
func TestShrinkFindsTheFaultsThatMatter(t *testing.T) {
	var all []string
	for i := range 40 {
		all = append(all, fmt.Sprint("fault ", i))
	}
	plays := 0
	play := func(p Plan) *Result {
		plays++
		r := &Result{Plan: p, Fired: slices.Sorted(maps.Keys(p.Only))}
		if p.Only["fault 7"] && p.Only["fault 31"] {
			r.Violations = []Violation{{Invariant: "I3"}}
		}
		return r
	}
	failing := &Result{Fired: all, Violations: []Violation{{Invariant: "I3"}}}
	smallest := Shrink(failing, "I3", 200, play)
	if want := []string{"fault 31", "fault 7"}; !slices.Equal(smallest.Fired, want) {
		t.Errorf("%d plays leave %q, want %q", plays, smallest.Fired, want)
	}
	if plays > 100 {
		t.Errorf("%d plays", plays)
	}
}
