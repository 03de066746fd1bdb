//go:build e2e

package e2efaults

import (
	"os"
	"testing"
	"time"

	"millrace/internal/simulation"
)

// TestAPlan tries one plan of the simulation: what PLAN says.
func TestAPlan(t *testing.T) {
	text := os.Getenv("PLAN")
	if text == "" {
		t.Skip("PLAN is not set")
	}
	plan, err := simulation.ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster()
	if err != nil {
		t.Fatal(err)
	}
	try(t, c, scenario{name: "plan-" + time.Now().UTC().Format("150405"), try: played(plan)})
}

// played does what a plan says, with a run of one step.
func played(plan simulation.Plan) func(*stage) {
	switch {
	case plan.Stale != nil:
		return stale(*plan.Stale)
	case plan.Unseen != nil:
		return unseen(*plan.Unseen)
	default:
		return crash(plan)
	}
}
