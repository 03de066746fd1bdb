package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"millrace/internal/simulation"
)

// client-go draws from a source of random numbers that is the process's, so two
// plans that are played at once need a process each.

// childEnv tells a child which plans to play: the name of a file with one in each
// line. What they came to goes into a file beside it.
const childEnv = "SIMULATION_CHILD"

// A summary is of one plan, or of many.
type summary struct {
	Plans      int
	Plan, Kind string
	Hash       uint64
	Lasted     time.Duration
	Requests   int
	Faults     map[string]int
	Fired      []string
	Violations []simulation.Violation
}

func played(r *simulation.Result) summary {
	s := summary{
		Plans: 1, Plan: r.Plan.String(), Kind: "unobserved", Hash: r.Hash, Lasted: r.Lasted, Requests: r.Requests,
		Faults: r.Faults, Fired: r.Fired, Violations: r.Violations,
	}
	switch {
	case r.Plan.Crash != nil:
		s.Kind = "crash"
	case r.Plan.Stale != nil:
		s.Kind = "stale"
	}
	return s
}

func (s *summary) add(o summary) {
	s.Plans, s.Lasted, s.Requests = s.Plans+o.Plans, s.Lasted+o.Lasted, s.Requests+o.Requests
	s.Violations = append(s.Violations, o.Violations...)
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

func (s *summary) breaks(invariant string) bool {
	return slices.ContainsFunc(s.Violations, func(v simulation.Violation) bool { return v.Invariant == invariant })
}

// TestAChildPlaysItsPlans is what children do.
func TestAChildPlaysItsPlans(t *testing.T) {
	file := os.Getenv(childEnv)
	if file == "" {
		t.Skip("a part of the other simulations")
	}
	plans, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var told bytes.Buffer
	clean := map[string]*simulation.Result{}
	for text := range strings.Lines(string(plans)) {
		p, err := simulation.ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&told).Encode(played(judged(t, p, clean))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file+".told", told.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// child has one play some plans, with one thread.
func child(ctx context.Context, file string, plans []simulation.Plan) ([]summary, error) {
	texts := make([]string, len(plans))
	for i, p := range plans {
		texts[i] = p.String() + "\n"
	}
	if err := os.WriteFile(file, []byte(strings.Join(texts, "")), 0o600); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestAChildPlaysItsPlans$", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GOGC=400", childEnv+"="+file)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("a child: %w\n%.20000s", err, out)
	}
	raw, err := os.ReadFile(file + ".told")
	var told []summary
	for d := json.NewDecoder(bytes.NewReader(raw)); err == nil && d.More(); {
		var s summary
		err = d.Decode(&s)
		told = append(told, s)
	}
	return told, err
}

// playAll plays plans, as many at once as there are processors, and reports those
// that break something; the first of them are made smaller, and told of.
func playAll(t *testing.T, plans []simulation.Plan) []summary {
	t.Helper()
	dir := t.TempDir()
	parts := make(chan []simulation.Plan)
	var mu sync.Mutex
	var told []summary
	var children sync.WaitGroup
	for c := range runtime.NumCPU() {
		children.Go(func() {
			for part := range parts {
				of, err := child(t.Context(), filepath.Join(dir, fmt.Sprint(c)), part)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				told = append(told, of...)
				mu.Unlock()
			}
		})
	}
	for left := plans; len(left) > 0; {
		n := portion(len(left))
		parts <- left[:n]
		left = left[n:]
	}
	close(parts)
	children.Wait()
	if len(told) != len(plans) {
		t.Errorf("%d plans were played of %d", len(told), len(plans))
	}
	report(t, told)
	if os.Getenv("HITS") != "" {
		hits(told)
	}
	return told
}

// portion is how many of the plans that are left a child plays: so many at first that
// it pays to start one, and that the same plan without its fault is not played by
// each, and fewer and fewer, so that all children end at about the same time. The last
// few are divided among all.
func portion(left int) int {
	const least, most = 4, 100
	each := (left + runtime.NumCPU() - 1) / runtime.NumCPU()
	return min(max(left/(2*runtime.NumCPU()), least), most, each)
}

func hits(told []summary) {
	var sum summary
	for _, s := range told {
		sum.add(s)
	}
	for _, kind := range slices.Sorted(maps.Keys(sum.Faults)) {
		fmt.Printf("%6d %s\n", sum.Faults[kind], kind)
	}
}

// report is of what is broken: each plan, and the first three in full.
func report(t *testing.T, told []summary) {
	t.Helper()
	full := 0
	for _, s := range told {
		if len(s.Violations) == 0 {
			continue
		}
		p, err := simulation.ParsePlan(s.Plan)
		if err != nil {
			t.Error(err)
			continue
		}
		t.Errorf("SEED=%d COMMIT=%s\n  %s", p.Seed, revision(), p.Command())
		for _, v := range s.Violations {
			t.Logf("  %s after %s: %.2000s", v.Invariant, v.At, v.What)
		}
		if full++; full <= 3 {
			if r := judged(t, p, map[string]*simulation.Result{}); len(r.Violations) > 0 {
				t.Log(explained(t, r))
			}
		}
	}
}

// inChildren plays plans at once, as many as there are processors.
func inChildren(ctx context.Context, t *testing.T, invariant string) simulation.Breaks {
	t.Helper()
	dir := t.TempDir()
	return func(plans []simulation.Plan) (first int, fired []string) {
		for some := range slices.Chunk(plans, runtime.NumCPU()) {
			told := make([]summary, len(some))
			var wait sync.WaitGroup
			for i, p := range some {
				wait.Go(func() {
					// An error is that of time that is up.
					if of, err := child(ctx, filepath.Join(dir, fmt.Sprint(i)), []simulation.Plan{p}); err == nil {
						told[i] = of[0]
					}
				})
			}
			wait.Wait()
			for i, s := range told {
				if s.breaks(invariant) {
					return first + i, s.Fired
				}
			}
			first += len(some)
		}
		return -1, nil
	}
}
