//go:build !race

// It plays every workload, as simulation_rights_test.go does.

package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"millrace/internal/simulation"
)

// served is the only namespace that the program of these simulations serves.
const served = "blue"

// grantedThere are the rights of manifests/overlays/namespaced, where the program is
// installed in the namespace that it serves. Here it is installed beside it, for the runs
// of a simulation are elsewhere; so the one right of those on runs that it needs for its
// own ConfigMaps, to tell of them in an event, is granted for both. That it makes a Role of the
// ClusterRole for runs, and has no other but the Role of the install, a test of
// internal/tools/manifests holds it to.
func grantedThere(t *testing.T) []simulation.Grant {
	t.Helper()
	raw, err := os.ReadFile("manifests/base/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	kept := slices.DeleteFunc(strings.Split(string(raw), "\n---\n"), func(document string) bool {
		return !strings.Contains(document, "kind: ClusterRole\nmetadata:\n  name: millrace-controller\n") &&
			!strings.Contains(document, "kind: Role\nmetadata:\n  name: millrace-install\n")
	})
	grants, err := simulation.ReadGrants([]byte(strings.Join(kept, "\n---\n")))
	if err != nil || len(kept) != 2 {
		t.Fatalf("%d roles: %v", len(kept), err)
	}
	for i := range grants {
		if grants[i].Namespace == "" {
			grants[i].Namespace = served
		}
	}
	return append(grants, simulation.Grant{Verb: "create", Resource: "events", Namespace: "tekton-pipelines"})
}

// Where one namespace is served its runs come to their end, others are left as they were
// created, and the rights that the overlay grants there are those that are used.
func TestTheShippedRightsInOneNamespaceAreThoseThatAreUsed(t *testing.T) {
	onlyIf(t)
	grants, used := grantedThere(t), map[simulation.Grant]int{}
	program := func(ctx context.Context, on simulation.Machine) error {
		return simulatedWith(ctx, on, "--watch-namespace="+served)
	}
	var plans []simulation.Plan
	for seed := range 6 {
		plans = append(plans, stormOf(seed+1))
	}
	for _, w := range append(simulation.Workloads(), simulation.Scenarios()...) {
		if w.Name != simulation.TheFlood {
			plans = append(plans, simulation.Plan{Seed: 1, Workload: w.Name})
		}
	}
	ended, left := 0, 0
	for _, p := range plans {
		r := playWith(t, p, program, grants)
		for g, n := range r.Facts.Used {
			used[g] += n
		}
		for _, v := range r.Violations {
			if v.Invariant == "I13" {
				t.Errorf("%s: %s", p, v.What)
			}
		}
		for uid, run := range r.Facts.Runs {
			switch done := !run.Ended.IsZero(); {
			case run.Key.Namespace != served && (done || r.Facts.PodsMade[uid] > 0):
				t.Errorf("%s: %s is of another namespace, and was worked on", p, run.Key)
			case run.Key.Namespace != served:
				left++
			case !done && !run.Gone:
				t.Errorf("%s: %s has not come to its end", p, run.Key)
			default:
				ended++
			}
		}
	}
	if ended < 100 || left < 50 {
		t.Errorf("%d runs have ended, and %d were left alone", ended, left)
	}
	excused := unused()
	excused["get serviceaccounts"] = "asked when the cache has not come to the account of a namespace that is new; this one is there from the start"
	for _, right := range []string{"create tokenreviews.authentication.k8s.io", "create subjectaccessreviews.authorization.k8s.io"} {
		delete(excused, right) // is not granted here
	}
	bothWays(t, grants, used, excused)
}
