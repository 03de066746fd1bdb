//go:debug randseednop=0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"millrace/internal/simulation"
	"millrace/internal/simulation/turnstile"
)

// Which simulations are played is for the environment to say:
//
//	SEED=7                  the storm of one seed, with its whole timeline
//	SEEDS=500 [FROM=1]      the storms of many
//	PLANS=all               all systematic plans
//	                        none of them: a few of both, others each day
const (
	seedEnv, seedsEnv, fromEnv = "SEED", "SEEDS", "FROM"
	plansEnv                   = "PLANS"
	shareEnv                   = "SIMULATION_SHARE" // of a child: which of how many, and where to write
)

// simulated is the program as a simulation runs it.
func simulated(ctx context.Context, on simulation.Machine) error {
	args := []string{
		"--pod-name=" + on.PodName, "--entrypoint-image=registry.example.com/millrace", "--workers=8",
		// A Lease that is renewed every two seconds would be most of the work. The
		// deadline is no multiple of the period: what is due at once has no order.
		"--leader-elect-lease-duration=45s", "--leader-elect-renew-deadline=30s", "--leader-elect-retry-period=7s",
	}
	cfg, err := parseConfig(args, none, nil)
	if err != nil {
		return err
	}
	return run(ctx, cfg, on.RestConfig, machine{
		listen: func(context.Context, string, string) (net.Listener, error) { return on.Listener, nil },
		random: on.Random,
	})
}

// play plays a plan in a bubble of its own.
func play(t *testing.T, p simulation.Plan) (r *simulation.Result) {
	t.Helper()
	hush(t)
	rand.Seed(int64(p.Seed)) //nolint:staticcheck // client-go draws its jitter there
	synctest.Test(t, func(*testing.T) {
		r = simulation.Play(p, simulation.Setting{Program: simulated, RenewDeadline: 30 * time.Second, RetryPeriod: 7 * time.Second})
	})
	return r
}

// hush keeps client-go's own log, which goes on about the troubles that it is
// given, out of the tests' output. The program's is kept by the simulation.
func hush(t *testing.T) {
	t.Helper()
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	klog.SetOutput(io.Discard)
}

func stormOf(seed int) simulation.Plan {
	return simulation.Plan{Seed: turnstile.Seed(seed), Workload: simulation.Storm, Chaos: 1}
}

func fromEnvironment(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// today changes which seeds and plans are tried, once a day.
func today() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

func TestInAStormNothingIsLostAndNothingIsDoneTwice(t *testing.T) {
	switch share := os.Getenv(shareEnv); {
	case os.Getenv(plansEnv) != "" || strings.HasPrefix(share, plansEnv):
		t.Skip("plans are asked for")
	case share != "":
		playShare(t, share, func(i int) *simulation.Result { return play(t, stormOf(i)) })
	case os.Getenv(seedEnv) != "":
		r := play(t, stormOf(fromEnvironment(seedEnv, 1)))
		r.Timeline(os.Stdout, nil)
		explain(t, r)
	default:
		n, from := fromEnvironment(seedsEnv, 4), fromEnvironment(fromEnv, 1)
		if os.Getenv(seedsEnv) == "" {
			from = 1 + today()*n
		}
		s := playAll(t, seedsEnv, from, n)
		fmt.Printf("seeds=%d virtual_hours=%.0f requests=%d faults=%d least_hit=%s violations=%d\n",
			s.Plans, s.Lasted.Hours(), s.Requests, s.all(), s.least(), s.Violations)
	}
}

// explain makes a failing plan smaller, and tells of it.
func explain(t *testing.T, r *simulation.Result) {
	t.Helper()
	if len(r.Violations) == 0 {
		return
	}
	smallest := simulation.Shrink(r, r.Violations[0].Invariant, fromEnvironment("SHRINK", 150), func(p simulation.Plan) *simulation.Result { return play(t, p) })
	var text bytes.Buffer
	smallest.Explain(&text, revision())
	t.Error(text.String())
}

func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return version
	}
	return strings.TrimSpace(string(out))
}

func TestAStormIsTheSameEachTime(t *testing.T) {
	if os.Getenv(shareEnv)+os.Getenv(seedEnv)+os.Getenv(seedsEnv)+os.Getenv(plansEnv) != "" {
		t.Skip("others are asked for")
	}
	p := stormOf(fromEnvironment("REPLAY", 1+today()))
	first := play(t, p)
	for range 2 {
		if again := play(t, p); again.Hash != first.Hash {
			keep(t, "first", first)
			keep(t, "again", again)
			t.Fatalf("%s: %s", p, firstDifference(first, again))
		}
	}
}

// keep writes a timeline to the directory that TIMELINES names, if it does.
func keep(t *testing.T, name string, r *simulation.Result) {
	t.Helper()
	dir := os.Getenv("TIMELINES")
	if dir == "" {
		return
	}
	var text bytes.Buffer
	r.Timeline(&text, nil)
	if err := os.WriteFile(dir+"/"+name+".txt", text.Bytes(), 0o644); err != nil {
		t.Error(err)
	}
}

func firstDifference(a, b *simulation.Result) string {
	for i := range min(len(a.Lines), len(b.Lines)) {
		if a.Lines[i] != b.Lines[i] {
			return fmt.Sprintf("line %d is %v once, and then %v", i, a.Lines[i], b.Lines[i])
		}
	}
	return fmt.Sprintf("%d lines once, and then %d", len(a.Lines), len(b.Lines))
}

// plans are all systematic plans, or a few of each workload, in one order. Those
// of the burst are so many that even all of them are not all.
func plans(t *testing.T, few int) (all []simulation.Plan, clean map[string]*simulation.Result) {
	t.Helper()
	clean = map[string]*simulation.Result{}
	for _, w := range simulation.Workloads() {
		seed := turnstile.Seed(today())
		r := play(t, simulation.Plan{Seed: seed, Workload: w.Name})
		if len(r.Violations) > 0 {
			t.Errorf("without faults: %s: %v", w.Name, r.Violations)
		}
		clean[w.Name] = r
		most := few
		if most == 0 && r.Writes > 100 {
			most = 100
		}
		crash, stale, unseen := simulation.Systematic(r, most)
		all = slices.Concat(all, crash, stale, unseen)
	}
	return all, clean
}

func TestAFaultAtAnyPointChangesNothingInTheEnd(t *testing.T) {
	few := 1
	if os.Getenv(plansEnv) != "" || strings.HasPrefix(os.Getenv(shareEnv), plansEnv) {
		few = 0
	}
	switch share := os.Getenv(shareEnv); {
	case os.Getenv(seedEnv)+os.Getenv(seedsEnv) != "" || strings.HasPrefix(share, seedsEnv):
		t.Skip("seeds are asked for")
	case share != "":
		all, clean := plans(t, few)
		playShare(t, share, func(i int) *simulation.Result {
			r := play(t, all[i])
			r.Violations = append(r.Violations, simulation.Compare(clean[r.Plan.Workload], r)...)
			return r
		})
	default:
		all, clean := plans(t, few)
		var s summary
		if few == 0 {
			s = playAll(t, plansEnv, 0, len(all))
		} else {
			for _, p := range all {
				r := play(t, p)
				r.Violations = append(r.Violations, simulation.Compare(clean[p.Workload], r)...)
				s.add(played(r))
				report(t, played(r))
			}
		}
		crash, stale, unseen := 0, 0, 0
		for _, p := range all {
			switch {
			case p.Crash != nil:
				crash++
			case p.Stale != nil:
				stale++
			default:
				unseen++
			}
		}
		fmt.Printf("plans=%d crash=%d stale=%d unobserved=%d violations=%d\n", s.Plans, crash, stale, unseen, s.Violations)
	}
}

// A summary is of one plan, or of many.
type summary struct {
	Plans      int
	Plan       string
	Lasted     time.Duration
	Requests   int
	Faults     map[string]int
	Violations int
	Text       string
}

func played(r *simulation.Result) summary {
	s := summary{Plans: 1, Plan: r.Plan.String(), Lasted: r.Lasted, Requests: r.Requests, Faults: r.Faults, Violations: len(r.Violations)}
	for _, v := range r.Violations {
		s.Text += fmt.Sprintf("  %s after %s: %.2000s\n", v.Invariant, v.At, v.What)
	}
	return s
}

func (s *summary) add(o summary) {
	s.Plans, s.Lasted, s.Requests, s.Violations = s.Plans+o.Plans, s.Lasted+o.Lasted, s.Requests+o.Requests, s.Violations+o.Violations
	if s.Faults == nil {
		s.Faults = map[string]int{}
	}
	for kind, n := range o.Faults {
		s.Faults[kind] += n
	}
}

func (s *summary) all() (n int) {
	for _, kind := range simulation.Kinds() {
		n += s.Faults[kind]
	}
	return n
}

func (s *summary) least() string {
	kinds := simulation.Kinds()
	least := slices.MinFunc(kinds, func(a, b string) int { return s.Faults[a] - s.Faults[b] })
	return fmt.Sprintf("%s:%d", least, s.Faults[least])
}

func report(t *testing.T, s summary) {
	t.Helper()
	if s.Violations > 0 {
		t.Errorf("%s COMMIT=%s\n%s", s.Plan, revision(), s.Text)
	}
}

// playAll has child processes play the plans from one on, each with one thread:
// client-go draws from a source that is the process's.
func playAll(t *testing.T, what string, from, n int) summary {
	t.Helper()
	children := min(runtime.NumCPU(), n)
	dir := t.TempDir()
	var wait sync.WaitGroup
	for c := range children {
		wait.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^"+strings.Split(t.Name(), "/")[0]+"$", "-test.timeout=0")
			file := fmt.Sprint(dir, "/", c)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("%s=%s %d %d %d %s", shareEnv, what, from+c, from+n, children, file))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%.20000s", err, out)
			}
		})
	}
	wait.Wait()
	var sum summary
	for c := range children {
		raw, err := os.ReadFile(fmt.Sprint(dir, "/", c))
		if err != nil {
			t.Error(err)
			continue
		}
		for d := json.NewDecoder(bytes.NewReader(raw)); d.More(); {
			var s summary
			if err := d.Decode(&s); err != nil {
				t.Fatal(err)
			}
			sum.add(s)
			report(t, s)
		}
	}
	if os.Getenv("HITS") != "" {
		for _, kind := range slices.Sorted(maps.Keys(sum.Faults)) {
			fmt.Printf("%6d %s\n", sum.Faults[kind], kind)
		}
	}
	return sum
}

// playShare is a child's part.
func playShare(t *testing.T, share string, play func(int) *simulation.Result) {
	t.Helper()
	var what, file string
	var from, to, step int
	if _, err := fmt.Sscan(share, &what, &from, &to, &step, &file); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := from; i < to; i += step {
		if err := json.NewEncoder(out).Encode(played(play(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
