package main

import (
	"bytes"
	"context"
	"math/rand"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/simulation"
)

// playShared plays a plan with four replicas that share the work, on a server that does
// not select by shard.
func playShared(t *testing.T, p simulation.Plan) (r *simulation.Result) {
	t.Helper()
	hush(t)
	rand.Seed(int64(p.Seed)) //nolint:staticcheck // client-go draws its jitter there
	synctest.Test(t, func(*testing.T) {
		r = simulation.Play(p, simulation.Setting{
			Program:  func(ctx context.Context, on simulation.Machine) error { return simulatedWith(ctx, on, "--shards=4") },
			Grants:   append(granted(t), grantedToShards(t)...),
			Replicas: 4, Invariants: simulation.ShardedInvariants(),
			RenewDeadline: 30 * time.Second, RetryPeriod: 7 * time.Second,
		})
	})
	return r
}

// grantedToShards are the rights that the overlay adds.
func grantedToShards(t *testing.T) []simulation.Grant {
	t.Helper()
	raw, err := os.ReadFile("manifests/overlays/sharded/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	grants, err := simulation.ReadGrants(raw)
	if err != nil || len(grants) == 0 {
		t.Fatalf("%d grants: %v", len(grants), err)
	}
	return grants
}

// sharedEnv is how many storms go over replicas that share the work, from FROM (1) on; where
// it is not set, a few of today's do.
const sharedEnv = "SHARED"

// sharedStorms are played one by one: SEEDS asks for the storms that children play.
func sharedStorms() (plans []simulation.Plan) {
	n := fromEnvironment(sharedEnv, 0)
	if n == 0 {
		return seeds(fewStorms)
	}
	for i := range n {
		plans = append(plans, stormOf(fromEnvironment(fromEnv, 1)+i))
	}
	return plans
}

// A storm goes over replicas that share the work: they crash, are stopped and cut off,
// and every write is made by who claims its namespace then. Of the rights that the
// overlay adds, none is without use.
func TestInAStormEveryWriteIsMadeByWhoHasTheNamespace(t *testing.T) {
	onlyIf(t)
	used := map[simulation.Grant]int{}
	for _, p := range sharedStorms() {
		r := playShared(t, p)
		if len(r.Violations) > 0 {
			var text bytes.Buffer
			r.Explain(&text, revision())
			t.Errorf("%v: %.20000s", p, text.String())
		}
		for g, n := range r.Facts.Used {
			used[g] += n
		}
	}
	for _, g := range grantedToShards(t) {
		if used[g] == 0 {
			t.Errorf("may %s, and never does", g)
		}
	}
}
