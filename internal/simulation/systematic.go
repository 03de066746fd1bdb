package simulation

import (
	"slices"
	"time"

	"millrace/internal/simulation/apiserver"
)

// Systematic are the plans that follow from a simulation without faults, after
// Sieve (Sun and others, OSDI 2022):
//
//   - a crash at every write, in three variants;
//   - for every write, a restart after it that is shown a resource as it was when an
//     earlier write for the same run came in, if for that run it has changed since;
//   - for every two changes that a process was told of before a write, and that
//     concern the write's run, the first unseen until the second.
func Systematic(clean *Result, most Limits) []Plan {
	base := Plan{Seed: clean.Plan.Seed, Workload: clean.Plan.Workload}
	return slices.Concat(
		some(crashes(base, clean.Trace), most.Crash),
		some(timeTravels(base, clean.Trace), most.Stale),
		some(unobserved(base, clean.Trace), most.Unseen),
	)
}

// Limits are how many plans there are at most of each kind.
type Limits struct{ Crash, Stale, Unseen int }

func crashes(base Plan, t *Trace) []Plan {
	plans := make([]Plan, 0, 3*len(t.Writes))
	for i := range t.Writes {
		for _, when := range []apiserver.Moment{apiserver.BeforeActing, apiserver.BeforeAnswering, apiserver.AfterAnswering} {
			p := base
			p.Crash = &Crash{Write: i + 1, When: when}
			plans = append(plans, p)
		}
	}
	return plans
}

func timeTravels(base Plan, t *Trace) []Plan {
	var plans []Plan
	for lost, w := range t.Writes {
		next := map[string]time.Time{} // by resource: the write that was looked at last
		for seen := lost; seen > 0; seen-- {
			earlier := t.Writes[seen-1]
			if !t.related(w, earlier.object) {
				continue
			}
			for _, resource := range []string{"taskruns", "pods", "tasks", "serviceaccounts", "pipelineruns", "pipelines"} {
				to, looked := next[resource]
				if !looked {
					to = w.At
				}
				if t.between(earlier.At, to, w, resource) == 0 {
					continue // it looks the same
				}
				next[resource] = earlier.At
				p := base
				p.Stale = &Stale{Resource: resource, Seen: seen, Lost: lost + 1}
				plans = append(plans, p)
			}
		}
	}
	return plans
}

func unobserved(base Plan, t *Trace) []Plan {
	var plans []Plan
	made := map[Unseen]bool{}
	for _, w := range t.Writes {
		told := t.before(w)
		for i, first := range told {
			for _, second := range told[i+1:] {
				u := Unseen{Actor: w.Actor, Event: first.Change, Until: second.Change}
				if made[u] {
					continue
				}
				made[u] = true
				p := base
				p.Unseen = &u
				plans = append(plans, p)
			}
		}
	}
	return plans
}

// some picks a few, spread over all, others for another seed.
func some(plans []Plan, most int) []Plan {
	if len(plans) <= most {
		return plans
	}
	step := float64(len(plans)) / float64(most)
	first := float64(plans[0].Seed.Below(1000, "which plans")) / 1000 * step
	picked := make([]Plan, most)
	for i := range picked {
		picked[i] = plans[int(first+float64(i)*step)]
	}
	return picked
}
