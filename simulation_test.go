//go:debug randseednop=0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"

	"millrace/internal/simulation"
	"millrace/internal/simulation/turnstile"
)

// Which simulations are played is for the environment to say:
//
//	SEED=7                    the storm of one seed, with its whole timeline
//	PLAN='seed=7 workload=…'  one plan, as a failure prints it, with its whole timeline
//	SEEDS=500 [FROM=1]        the storms of many seeds
//	REPLAYS=20 [SEEDS, FROM]  the storms of some seeds, so many times each
//	PLANS=all                 systematic plans: all crashes, of the rest today's part;
//	                          PLANS=every: all; PLANS=10: so many of each kind
//	                          none of them: a few of each, others each day
//	ONLY=pipeline             of these, those of workloads whose names have that in them
//	SHRINK=1m                 how long a failing plan is made smaller
//	TIMELINES=DIRECTORY       where timelines are written. Default: .build/simulation
const (
	seedEnv, planEnv, seedsEnv, fromEnv, replaysEnv, plansEnv = "SEED", "PLAN", "SEEDS", "FROM", "REPLAYS", "PLANS"
	onlyEnv, shrinkEnv, timelinesEnv                          = "ONLY", "SHRINK", "TIMELINES"
)

// simulated is the program as a simulation runs it.
func simulated(ctx context.Context, on simulation.Machine) error {
	return simulatedWith(ctx, on)
}

// simulatedWith is simulated with more flags.
func simulatedWith(ctx context.Context, on simulation.Machine, more ...string) error {
	args := append([]string{
		"--pod-name=" + on.PodName, "--entrypoint-image=registry.example.com/millrace", "--workers=8", "--resolvers=git",
		// A Lease that is renewed every two seconds would be most of the work. The
		// deadline is no multiple of the period: what is due at once has no order.
		"--leader-elect-lease-duration=45s", "--leader-elect-renew-deadline=30s", "--leader-elect-retry-period=7s",
		"--resync-period=4m37s",   // twice in the quiet at the end, when it must change nothing
		"--debug-bind-address=",   // there is one door
		"--webhook-bind-address=", // keys and certificates are never the same twice
	}, more...)
	cfg, err := parseConfig(args, none)
	if err != nil {
		return err
	}
	return run(ctx, cfg, on.RestConfig, machine{
		listen:   func(context.Context, string, string) (net.Listener, error) { return on.Listener, nil },
		random:   on.Random,
		handling: on.Handling,
	})
}

// play plays a plan in a bubble of its own.
func play(t *testing.T, p simulation.Plan) *simulation.Result {
	t.Helper()
	return playWith(t, p, simulated, granted(t))
}

// playWith plays a plan with a program that is granted that.
func playWith(t *testing.T, p simulation.Plan, program simulation.Program, grants []simulation.Grant) (r *simulation.Result) {
	t.Helper()
	hush(t)
	rand.Seed(int64(p.Seed)) //nolint:staticcheck // client-go draws its jitter there
	synctest.Test(t, func(*testing.T) {
		r = simulation.Play(p, simulation.Setting{Program: program, Grants: grants, RenewDeadline: 30 * time.Second, RetryPeriod: 7 * time.Second})
	})
	return r
}

// granted are the rights that the manifests give the program.
func granted(t *testing.T) []simulation.Grant {
	t.Helper()
	raw, err := os.ReadFile("manifests/base/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	grants, err := simulation.ReadGrants(raw)
	if err != nil || len(grants) == 0 {
		t.Fatalf("%d grants: %v", len(grants), err)
	}
	return grants
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

// judged plays a plan, and holds what it comes to against what the same comes to
// without its one fault, if it has one.
func judged(t *testing.T, p simulation.Plan, clean map[string]*simulation.Result) *simulation.Result {
	t.Helper()
	r := play(t, p)
	if p.Chaos > 0 {
		return r
	}
	p.Crash, p.Stale, p.Unseen = nil, nil, nil
	without := clean[p.String()]
	if without == nil {
		without = play(t, p)
		clean[p.String()] = without
	}
	r.Violations = append(r.Violations, simulation.Compare(without, r)...)
	return r
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

// onlyIf skips the test when the environment asks for others.
func onlyIf(t *testing.T, asked ...string) {
	t.Helper()
	others := slices.DeleteFunc([]string{seedEnv, planEnv, seedsEnv, replaysEnv, plansEnv, childEnv}, func(name string) bool {
		return os.Getenv(name) == "" || slices.Contains(asked, name)
	})
	if len(others) > 0 {
		t.Skipf("%q ask for others", others)
	}
}

// today changes which seeds and plans are tried, once a day.
func today() int { return int(time.Now().Unix() / (24 * 60 * 60)) }

// seeds are those that the environment asks for, or a few of today's.
func seeds(few int) (plans []simulation.Plan) {
	n, from := fromEnvironment(seedsEnv, few), fromEnvironment(fromEnv, 1)
	if os.Getenv(seedsEnv) == "" {
		from = 1 + today()*few
	}
	for i := range n {
		plans = append(plans, stormOf(from+i))
	}
	return plans
}

func TestInAStormNothingIsLostAndNothingIsDoneTwice(t *testing.T) {
	onlyIf(t, seedsEnv)
	var s summary
	for _, one := range playAll(t, seeds(fewStorms)) {
		s.add(one)
	}
	fmt.Printf("seeds=%d virtual_hours=%.0f requests=%d faults=%d least_hit=%s violations=%d\n",
		s.Plans, s.Lasted.Hours(), s.Requests, s.all(), s.least(), len(s.Violations))
}

// The plan that PLAN or SEED names, and nothing else.
func TestOnePlan(t *testing.T) {
	p := stormOf(fromEnvironment(seedEnv, 1))
	var err error
	switch text := os.Getenv(planEnv); {
	case text != "":
		if p, err = simulation.ParsePlan(text); err != nil {
			t.Fatal(err)
		}
	case os.Getenv(seedEnv) == "":
		t.Skip("SEED or PLAN asks for one")
	}
	r := judged(t, p, map[string]*simulation.Result{})
	r.Timeline(os.Stdout, nil)
	if len(r.Violations) > 0 {
		t.Error(explained(t, r))
	}
	text, html := r.Tell(revision())
	fmt.Println(wrote(t, "seed-"+fmt.Sprint(p.Seed), text, html))
	fmt.Printf("plan=%q violations=%d\n", p, len(r.Violations))
}

// Plans that once broke something, and must not again.
func TestWhatWasFoundStaysFixed(t *testing.T) {
	onlyIf(t)
	for _, text := range []string{
		// A pod was deleted on the word of a run from before it had waited for quota.
		`seed=20787 workload="quota refuses at first" stale=taskruns:3:12`,
		// A child that had ended was asked to stop, on an old view of it.
		`seed=20787 workload="pipeline: restart in the middle" stale=taskruns:20:21`,
		// A child that had ended before anybody wrote it down was the last that its pipeline
		// heard of, until the resync.
		`seed=20787 workload="pipeline: retries" only="user run: blue/p" stale=pipelineruns:1:3`,
		// A task had failed before anybody was shown its pipeline: the other one, which nobody
		// had begun, rightly did not begin, and the oracle held that to be wrong.
		`seed=20787 workload="pipeline: finally after a failure" stale=pipelineruns:1:3`,
		// A task began, on an old view of a run that had been cancelled and had ended.
		`seed=20787 workload="pipeline: cancel" stale=pipelineruns:8:20`,
		// A claim was made again for a pod that, on an old view, had not begun.
		`seed=20787 workload="a claim that is lost" unseen=millrace-0.1:pods/blue/a-pod#2:taskruns/blue/a#3`,
		// A pod whose run had ended came to the cache late, and went on.
		`seed=20787 workload="a sidecar that never comes up" stale=pods:2:7`,
		// A pod that was to be kept with its logs was deleted, on an old view in which it had
		// not begun.
		`seed=20787 workload="cancel of a run whose pod is kept" stale=pods:2:5`,
		// A step that had ended lost its results, on an old view in which it went on.
		`seed=20788 workload="a StepAction and its results" stale=pods:3:4`,
		// A PipelineRun that a server an hour ahead had made started in an hour.
		`seed=5 workload="storm" chaos=1 only="server's clock an hour ahead: at about 37m30s" only="user run: red/pipe-2"`,
	} {
		p, err := simulation.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		if r := judged(t, p, map[string]*simulation.Result{}); len(r.Violations) > 0 {
			t.Error(explained(t, r))
		}
	}
}

func TestAStormIsTheSameEachTime(t *testing.T) {
	onlyIf(t, replaysEnv, seedsEnv)
	replays, some := fromEnvironment(replaysEnv, fewReplays), seeds(fewReplayed)
	if os.Getenv(replaysEnv) == "" && os.Getenv(seedsEnv) != "" {
		t.Skip("SEEDS asks for one play of each")
	}
	var all []simulation.Plan
	for range replays {
		all = append(all, some...)
	}
	hashes := map[string]map[uint64]bool{}
	for _, s := range playAll(t, all) {
		if hashes[s.Plan] == nil {
			hashes[s.Plan] = map[uint64]bool{}
		}
		hashes[s.Plan][s.Hash] = true
	}
	different := 0
	for _, p := range some {
		if n := len(hashes[p.String()]); n > 1 {
			different += n - 1
			t.Errorf("%d plays of %s are %d different ones: %s", replays, p, n, firstDifference(t, p))
		}
	}
	fmt.Printf("seeds=%d replays=%d different=%d\n", len(some), replays, different)
}

// firstDifference plays a plan until two plays are not the same, and says where.
func firstDifference(t *testing.T, p simulation.Plan) string {
	t.Helper()
	a := play(t, p)
	for range 20 {
		b := play(t, p)
		for i := range min(len(a.Lines), len(b.Lines)) {
			if a.Lines[i] != b.Lines[i] {
				return fmt.Sprintf("line %d is %v once, and then %v", i, a.Lines[i], b.Lines[i])
			}
		}
		if len(a.Lines) != len(b.Lines) {
			return fmt.Sprintf("%d lines once, and then %d", len(a.Lines), len(b.Lines))
		}
	}
	return "not here, in 20 plays"
}

// plans are systematic plans of every workload: as many of each kind as PLANS says,
// or all; of what is not a crash, a workload has a part of each day, if it has many.
func plans(t *testing.T) (all []simulation.Plan) {
	t.Helper()
	for i, w := range simulation.Workloads() {
		if !strings.Contains(w.Name, os.Getenv(onlyEnv)) {
			continue
		}
		r := play(t, simulation.Plan{Seed: turnstile.Seed(today()), Workload: w.Name})
		if len(r.Violations) > 0 {
			t.Error(explained(t, r))
		}
		most := fromEnvironment(plansEnv, fewPlans)
		limits := simulation.Limits{Crash: most, Stale: most, Unseen: most}
		switch {
		case os.Getenv(plansEnv) == "all":
			limits = simulation.Limits{Crash: math.MaxInt, Stale: 50, Unseen: 80}
		case os.Getenv(plansEnv) == "every":
			limits = simulation.Limits{Crash: math.MaxInt, Stale: math.MaxInt, Unseen: math.MaxInt}
		case most == 0:
			*[]*int{&limits.Crash, &limits.Stale, &limits.Unseen}[(i+today())%3] = 1
		}
		all = slices.Concat(all, simulation.Systematic(r, limits))
	}
	return all
}

func TestAFaultAtAnyPointChangesNothingInTheEnd(t *testing.T) {
	onlyIf(t, plansEnv)
	var s summary
	kinds := map[string]int{}
	traces := map[uint64]bool{}
	for _, one := range playAll(t, plans(t)) {
		if traces[one.Hash] {
			kinds["the same as another"]++
			continue
		}
		traces[one.Hash] = true
		kinds[one.Kind]++
		s.add(one)
	}
	if same := kinds["the same as another"]; same > 0 {
		fmt.Printf("%d more came to the same trace as another one, and are not counted\n", same)
	}
	fmt.Printf("plans=%d crash=%d stale=%d unobserved=%d violations=%d\n", s.Plans, kinds["crash"], kinds["stale"], kinds["unobserved"], len(s.Violations))
}

// explained makes a failing plan smaller, and tells of it.
func explained(t *testing.T, r *simulation.Result) string {
	t.Helper()
	limit, err := time.ParseDuration(os.Getenv(shrinkEnv))
	if err != nil {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	breach := r.Violations[0]
	if len(r.Fired) > 0 {
		smallest := simulation.Shrink(ctx, r, breach, inChildren(ctx, t, breach.Invariant))
		if s := judged(t, smallest, map[string]*simulation.Result{}); len(s.Violations) > 0 {
			r = s
		}
	}
	text, html := r.Tell(revision())
	return text + wrote(t, fmt.Sprintf("seed-%d-%s", r.Plan.Seed, breach.Invariant), text, html)
}

var unfitForFiles = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// wrote writes a timeline, as text and as a page, and says where.
func wrote(t *testing.T, name, text string, html []byte) string {
	t.Helper()
	dir := os.Getenv(timelinesEnv)
	if dir == "" {
		dir = filepath.Join(".build", "simulation")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, unfitForFiles.ReplaceAllString(name, "-"))
	for end, content := range map[string][]byte{".txt": []byte(text), ".html": html} {
		if err := os.WriteFile(file+end, content, 0o644); err != nil {
			t.Error(err)
		}
	}
	return fmt.Sprintf("  timeline: %s.txt, and %s.html for a browser", file, file)
}

func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return version
	}
	return strings.TrimSpace(string(out))
}
