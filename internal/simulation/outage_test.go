package simulation

import (
	"testing"
	"time"
)

// Two that take the server away are one outage, over when both are: the attempts to
// connect of a whole storm were taken for those of 47 s otherwise (seed 77).
func TestOutagesThatOverlapAreOne(t *testing.T) {
	w := newWorld(Plan{Seed: 1, Workload: "one step"}, Setting{})
	first, second := w.takeDown(), w.takeDown()
	first()
	if out := w.facts.Outages; len(out) != 1 || !out[0].To.IsZero() {
		t.Errorf("when one of two is over the outages are %+v", out)
	}
	second()
	if out := w.facts.Outages; len(out) != 1 || out[0].To.Before(out[0].From) || out[0].Dials != 0 {
		t.Errorf("when both are over the outages are %+v", out)
	}
	w.takeDown()()
	if out := w.facts.Outages; len(out) != 2 || out[1].To.Equal(time.Time{}) {
		t.Errorf("after another one the outages are %+v", out)
	}
}
