package simulation

import (
	"time"

	"millrace/internal/simulation/apiserver"
	"millrace/internal/simulation/turnstile"
)

// Systematic are the plans that follow from a trace without faults, after Sieve
// (Sun and others, OSDI 2022): a crash at every write in three variants, a restart
// that sees a resource as it was some writes ago, and every change that was
// followed by another before the program's next write, unseen. few limits how many
// of each kind there are; 0 does not.
func Systematic(workload string, seed turnstile.Seed, clean *Result, few int) (crash, stale, unseen []Plan) {
	base := Plan{Seed: seed, Workload: workload}
	for write := 1; write <= clean.Writes; write++ {
		for _, when := range []apiserver.Moment{apiserver.BeforeActing, apiserver.BeforeAnswering, apiserver.AfterAnswering} {
			p := base
			p.Crash = &Crash{Write: write, When: when}
			crash = append(crash, p)
		}
		for _, resource := range []string{"taskruns", "pods"} {
			for back := 1; back <= 2 && back < write; back++ {
				p := base
				p.Stale = &Stale{Resource: resource, Seen: write - back, Lost: write}
				stale = append(stale, p)
			}
		}
	}
	for _, resource := range []string{"taskruns", "pods"} {
		for event := 1; event <= clean.Facts.Modified[resource]; event++ {
			for _, until := range []time.Duration{time.Second, 10 * time.Second} {
				p := base
				p.Unseen = &Unseen{Resource: resource, Event: event, Until: until}
				unseen = append(unseen, p)
			}
		}
	}
	return some(crash, few, seed), some(stale, few, seed), some(unseen, few, seed)
}

// some picks a few, spread over all, others for another seed.
func some(plans []Plan, few int, seed turnstile.Seed) []Plan {
	if few == 0 || len(plans) <= few {
		return plans
	}
	step := float64(len(plans)) / float64(few)
	first := float64(seed.Below(1000, "which plans")) / 1000 * step
	picked := make([]Plan, few)
	for i := range picked {
		picked[i] = plans[int(first+float64(i)*step)]
	}
	return picked
}
