//go:build !race

// It plays every workload, which takes minutes under the race detector; make sim-few plays
// it without.

package main

import (
	"slices"
	"testing"
	"time"

	"millrace/internal/simulation"
	"millrace/internal/simulation/apiserver"
)

// unused are rights that no simulation can have used, each with its reason. One that
// a simulation comes to use is to be taken out of here.
func unused() map[string]string {
	return map[string]string{
		"create customruns.tekton.dev": "no Pipeline of a simulation has a custom task",
		"get customruns.tekton.dev":    "likewise",
		"patch customruns.tekton.dev":  "likewise",
		"get pipelines.tekton.dev":     "asked when the cache has not come to a Pipeline that was made with its run",

		"update taskruns/finalizers.tekton.dev":     "asked by an admission plugin of the API server, which the model is without",
		"update pipelineruns/finalizers.tekton.dev": "likewise",

		"create tokenreviews.authentication.k8s.io":        "asked when somebody looks at /debug from another machine: internal/e2e does",
		"create subjectaccessreviews.authorization.k8s.io": "likewise",

		"get pods/log": "results come from the log of a sidecar only where a ConfigMap says so, and the model has no logs",
		"get secrets":  "no ServiceAccount of a simulation lists a secret",
	}
}

// That nothing is used that is not granted is an invariant of every plan (I13). That
// nothing is granted that is not used is a matter of many.
func TestTheShippedRightsAreThoseThatAreUsed(t *testing.T) {
	onlyIf(t)
	used := map[simulation.Grant]int{}
	count := func(p simulation.Plan) {
		for g, n := range play(t, p).Facts.Used {
			used[g] += n
		}
	}
	for _, w := range append(simulation.Workloads(), simulation.Scenarios()...) {
		if w.Name != simulation.TheFlood { // which is large, and says no more
			count(simulation.Plan{Seed: 1, Workload: w.Name})
		}
	}
	for seed := range 6 {
		count(stormOf(seed + 1))
	}
	// Simulations are without the webhook, whose keys are never the same twice.
	for _, noWatchList := range []bool{false, true} {
		for _, e := range install(t, apiserver.Config{NoWatchList: noWatchList}, func(*installed) { time.Sleep(5 * time.Second) }) {
			if e.Actor == "millrace" {
				useOf(t, e.Request, used)
			}
		}
	}
	bothWays(t, granted(t), used, unused())
}

// bothWays tells of rights that are not used and not excused, and of excuses that are none.
func bothWays(t *testing.T, grants []simulation.Grant, used map[simulation.Grant]int, allowed map[string]string) {
	t.Helper()
	for _, g := range grants {
		reason, excused := allowed[g.String()]
		switch {
		case used[g] == 0 && !excused:
			t.Errorf("may %s, and never does", g)
		case used[g] > 0 && excused:
			t.Errorf("does %s %d times, which is said to be impossible: %s", g, used[g], reason)
		}
		delete(allowed, g.String())
	}
	for g := range allowed {
		t.Errorf("%s is excused, and not granted", g)
	}
}

// useOf counts the rights that a request takes: one that is for an object of that name
// before one that is for any, which somebody else may need.
func useOf(t *testing.T, r apiserver.Request, used map[simulation.Grant]int) {
	t.Helper()
	suit := slices.DeleteFunc(granted(t), func(g simulation.Grant) bool { return !g.Allows(r) })
	if len(suit) == 0 {
		t.Errorf("%s: the manifests grant nobody that", r)
		return
	}
	if named := slices.IndexFunc(suit, func(g simulation.Grant) bool { return g.Name != "" }); named >= 0 {
		used[suit[named]]++
		return
	}
	for _, g := range suit {
		used[g]++
	}
}
