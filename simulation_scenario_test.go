package main

import (
	"bytes"
	"testing"

	"millrace/internal/simulation"
)

// Each scenario asks one question: does one namespace's flood leave another its
// turn, do calls that hang hold up others, does a run whose pod is refused wait, and
// say why.
func TestScenarios(t *testing.T) {
	onlyIf(t)
	for _, w := range simulation.Scenarios() {
		if w.Name == simulation.TheFlood && !floods {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			r := play(t, simulation.Plan{Seed: 1, Workload: w.Name})
			if len(r.Violations) > 0 {
				var text bytes.Buffer
				r.Explain(&text, revision())
				t.Errorf("%.20000s", text.String())
			}
			if f := r.Facts.Flood; f.Waiting > 0 {
				t.Logf("%d runs of another namespace wait, each takes a worker %s; the only one of its namespace began after %s", f.Waiting, f.Service, f.Wait)
			}
		})
	}
}
