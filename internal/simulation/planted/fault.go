package planted

import (
	"fmt"
	"slices"
	"strings"

	"millrace/internal/simulation"
	"millrace/internal/simulation/turnstile"
)

// A Fault is one that a programmer could make.
type Fault struct {
	Name string // what PLANTED_FAULT wakes it by
	Says string // what the program does then
	// In is a directory of the module: in one of the files below it, or of "." itself,
	// Old is a text that is there once. New takes its place, and is Go with a call of
	// planted(Name) in it.
	In, Old, New string
	// Plans are played until one shows the fault.
	Plans []simulation.Plan
	// Caught is the invariant that must catch it.
	Caught string
}

// String is the fault's line in the list of what is caught.
func (f Fault) String() string {
	plans := make([]string, len(f.Plans))
	for i, p := range f.Plans {
		plans[i] = brief(p)
	}
	return fmt.Sprintf("%s | %s | `%s` | %s | %s", f.Name, f.Says, f.In, strings.Join(slices.Compact(plans), "; "), f.Caught)
}

// brief leaves out of a plan what changes when its seed does.
func brief(p simulation.Plan) string {
	if p.Stale != nil {
		return fmt.Sprintf("%s, and a restart that is shown old %s", p.Workload, p.Stale.Resource)
	}
	return p.Workload
}

// seed is of plans in which nothing is left to chance but times.
const seed turnstile.Seed = 1

// quiet is a workload in which nothing else goes wrong.
func quiet(workload string) []simulation.Plan {
	return []simulation.Plan{{Seed: seed, Workload: workload}}
}

// staleRestarts are restarts after each of the first writes of a workload, which
// then show a resource as it was one or two writes before.
func staleRestarts(workload, resource string, writes int) []simulation.Plan {
	var plans []simulation.Plan
	for lost := 2; lost <= writes; lost++ {
		for back := 1; back <= 2 && back < lost; back++ {
			plans = append(plans, simulation.Plan{Seed: seed, Workload: workload, Stale: &simulation.Stale{Resource: resource, Seen: lost - back, Lost: lost}})
		}
	}
	return plans
}
