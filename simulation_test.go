//go:debug randseednop=0

package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand" //nolint:depguard // what client-go draws from
	"net"
	"os"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"millrace/internal/simulation"
	"millrace/internal/simulation/turnstile"
)

// simulated is the program as a simulation runs it.
func simulated(ctx context.Context, on simulation.Machine) error {
	cfg, err := simulatedConfig(on.PodName)
	if err != nil {
		return err
	}
	return run(ctx, cfg, on.RestConfig, machine{
		listen: func(context.Context, string, string) (net.Listener, error) { return on.Listener, nil },
		random: on.Random,
	})
}

func simulatedConfig(podName string) (config, error) {
	args := []string{
		"--pod-name=" + podName, "--entrypoint-image=registry.example.com/millrace", "--workers=8",
		// A Lease that is renewed every two seconds would be most of the work.
		"--leader-elect-lease-duration=45s", "--leader-elect-renew-deadline=30s", "--leader-elect-retry-period=10s",
	}
	return parseConfig(args, none, nil)
}

func setting() simulation.Setting {
	return simulation.Setting{Program: simulated, LeaseDuration: 45 * time.Second, RenewDeadline: 30 * time.Second, RetryPeriod: 10 * time.Second}
}

// play plays a plan in a bubble of its own.
func play(t *testing.T, p simulation.Plan) (r *simulation.Result) {
	t.Helper()
	rand.Seed(int64(p.Seed)) //nolint:staticcheck // client-go draws its jitter there
	synctest.Test(t, func(*testing.T) { r = simulation.Play(p, setting()) })
	return r
}

func TestSimulationOne(t *testing.T) {
	name, seed, chaos := os.Getenv("WORKLOAD"), 1, 0.0
	if name == "" {
		t.Skip()
	}
	if s := os.Getenv("SEED"); s != "" {
		seed, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("CHAOS"); s != "" {
		chaos, _ = strconv.ParseFloat(s, 64)
	}
	begun := time.Now()
	r := play(t, simulation.Plan{Seed: turnstile.Seed(seed), Workload: name, Chaos: chaos})
	var b bytes.Buffer
	r.Timeline(&b, nil)
	_ = os.WriteFile("/tmp/timeline.txt", b.Bytes(), 0o644)
	_ = os.WriteFile("/tmp/sim.log", []byte(r.Facts.Logs()), 0o644)
	fmt.Println(r.Plan, "took", time.Since(begun), "lasted", r.Lasted, "requests", r.Requests, "writes", r.Writes, "hash", r.Hash)
	fmt.Println(r.Faults)
	for _, v := range r.Violations {
		t.Errorf("%s %s %s", v.At, v.Invariant, v.What)
	}
}
