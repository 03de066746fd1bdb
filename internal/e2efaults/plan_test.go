//go:build e2e

package e2efaults

import (
	"os"
	"testing"
	"testing/synctest"
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
	of, err := usersOf(t, plan)
	if err != nil {
		t.Fatal(err)
	}
	try(t, startCluster(t), scenario{name: "plan-" + time.Now().UTC().Format("150405"), try: played(plan, of)})
}

// usersOf is what the users of a plan's workload do.
func usersOf(t *testing.T, plan simulation.Plan) (of story, err error) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		all, failure := simulation.Deeds(plan)
		of, err = deeds(all), failure
	})
	return of, err
}

// played does what a plan says.
func played(plan simulation.Plan, of story) func(*stage) {
	switch {
	case plan.Stale != nil:
		return stale(*plan.Stale, of)
	case plan.Unseen != nil:
		return unseen(*plan.Unseen, of)
	case plan.Crash != nil:
		return crash(plan, of)
	default:
		return func(s *stage) { s.start(); of.begin(s); of.end(s); s.recovered() }
	}
}
