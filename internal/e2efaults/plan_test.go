//go:build e2e

package e2efaults

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/simulation"
)

// plans are some of the simulation's, so that what is done with them here is tried,
// too: of several steps, tasks and attempts. A run is sure to have three writes: that
// its steps are at work is written only if somebody sees it in time.
func plans() []scenario {
	return []scenario{
		planned("plan-three-steps-killed", []int{13}, `seed=1 workload="three steps, the middle one fails" crash=3:unanswered`),
		planned("plan-step-action-killed", []int{13}, `seed=1 workload="a StepAction and its results" crash=3:answered`),
		planned("plan-diamond-killed", []int{13}, `seed=1 workload="pipeline: diamond" crash=8:unanswered`),
		planned("plan-finally-killed", []int{13}, `seed=1 workload="pipeline: finally after a failure" crash=9:unsent`),
		planned("plan-retries-stale", []int{9, 13}, `seed=1 workload="pipeline: retries" stale=pipelineruns:4:7`),
		planned("plan-matrix-unseen", []int{3}, `seed=1 workload="pipeline: matrix" unseen=millrace-0.1:taskruns/blue/p-each-0#2:pipelineruns/blue/p#3`),
	}
}

func planned(name string, numbers []int, text string) scenario {
	return scenario{name: name, numbers: numbers, try: func(s *stage) {
		plan, err := simulation.ParsePlan(text)
		s.must(err)
		of, err := usersOf(s.t, plan)
		s.must(err)
		played(plan, of)(s)
	}}
}

// TestAPlan tries one plan of the simulation: what PLAN says.
func TestAPlan(t *testing.T) {
	text := os.Getenv("PLAN")
	if text == "" {
		t.Skip("PLAN is not set")
	}
	if _, err := simulation.ParsePlan(text); err != nil {
		t.Fatal(err)
	}
	try(t, startCluster(t), planned("plan-"+time.Now().UTC().Format("150405"), nil, text))
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
