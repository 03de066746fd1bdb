package planted

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"millrace/internal/simulation"
)

var update = flag.Bool("update", false, "write testdata/caught.golden anew")

const root = "../../.." // of the module

// Which faults are tried is for the environment to say: PLANTED=all, or some by
// their names with spaces between them, or none of that: a few, others each day.
const plantedEnv = "PLANTED"

// build makes the test binary of package main with all faults in it, asleep.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := Overlay(module, dir, Faults())
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "planted.test")
	cmd := exec.Command("go", "test", "-c", "-overlay", overlay, "-o", binary, ".")
	cmd.Dir, cmd.Env = module, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%.20000s", err, out)
	}
	return binary
}

// A task is what a child is told to play: plans, until one breaks that invariant.
type task struct {
	Plans []simulation.Plan
	Until string
}

// A tale is what it tells of a plan.
type tale struct {
	Plan       string
	Violations []simulation.Violation
}

// play has a child play plans with a fault awake, or none.
func play(t *testing.T, binary, fault string, of task) []tale {
	t.Helper()
	file := filepath.Join(t.TempDir(), "task")
	raw, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestPlansAreToldToWhoPlantsFaults$", "-test.timeout=15m")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "PLANTED_TASK="+file, Variable+"="+fault)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%.5000s", fault, err, out)
		return nil
	}
	raw, err = os.ReadFile(file + ".told")
	if err != nil {
		t.Fatal(err)
	}
	var tales []tale
	if err := json.Unmarshal(raw, &tales); err != nil {
		t.Fatal(err)
	}
	return tales
}

func (l tale) broke(invariant string) bool {
	return slices.ContainsFunc(l.Violations, func(v simulation.Violation) bool { return v.Invariant == invariant })
}

func (l tale) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "  %s\n", l.Plan)
	for _, v := range l.Violations[:min(len(l.Violations), 5)] {
		fmt.Fprintf(&out, "    %s after %s: %.300s\n", v.Invariant, v.At, v.What)
	}
	return out.String()
}

// chosen are the faults to be tried.
func chosen() []Fault {
	all, want := Faults(), os.Getenv(plantedEnv)
	switch want {
	case "all":
		return all
	case "":
		const few = 4
		first := int(time.Now().Unix()/(24*60*60)) * few % len(all)
		return append(all, all...)[first : first+few]
	default:
		return slices.DeleteFunc(all, func(f Fault) bool { return !slices.Contains(strings.Fields(want), f.Name) })
	}
}

func TestEachPlantedFaultIsCaught(t *testing.T) {
	begun := time.Now()
	faults := chosen()
	binary := build(t)
	built := time.Since(begun)
	queue := make(chan func(), len(faults)+1)
	queue <- func() { control(t, binary, plans(faults)) }
	caught := make([]bool, len(faults))
	for i, f := range faults {
		queue <- func() { caught[i] = isCaught(t, binary, f) }
	}
	close(queue)
	var children sync.WaitGroup
	for range runtime.NumCPU() {
		children.Go(func() {
			for each := range queue {
				each()
			}
		})
	}
	children.Wait()
	missed := 0
	for _, was := range caught {
		if !was {
			missed++
		}
	}
	fmt.Printf("planted=%d caught=%d missed=%d build=%s all=%s\n", len(faults), len(faults)-missed, missed, built.Round(time.Second), time.Since(begun).Round(time.Second))
}

// control plays the plans with no fault awake.
func control(t *testing.T, binary string, all []simulation.Plan) {
	t.Helper()
	for _, told := range play(t, binary, "", task{Plans: all}) {
		if len(told.Violations) > 0 {
			t.Errorf("without any fault:\n%s", told)
		}
	}
}

func isCaught(t *testing.T, binary string, f Fault) bool {
	t.Helper()
	tales := play(t, binary, f.Name, task{Plans: f.Plans, Until: f.Caught})
	if len(tales) > 0 && tales[len(tales)-1].broke(f.Caught) {
		if testing.Verbose() {
			fmt.Printf("%-24s %-4s plan %d of %d, %d violations\n", f.Name, f.Caught, len(tales), len(f.Plans), len(tales[len(tales)-1].Violations))
		}
		return true
	}
	var text strings.Builder
	for _, told := range tales {
		text.WriteString(told.String())
	}
	t.Errorf("%s (%s) is not caught by %s:\n%s", f.Name, f.Says, f.Caught, text.String())
	return false
}

func TestEveryFaultHasItsPlace(t *testing.T) {
	names := map[string]bool{}
	for _, f := range Faults() {
		if names[f.Name] || !strings.Contains(f.New, fmt.Sprintf("planted(%q)", f.Name)) && !strings.Contains(f.New, fmt.Sprintf("plantedAfter(%q", f.Name)) {
			t.Errorf("%s: its name is taken, or nothing wakes it", f.Name)
		}
		names[f.Name] = true
	}
	if _, err := Overlay(root, t.TempDir(), Faults()); err != nil {
		t.Error(err)
	}
	for _, wrong := range []Fault{{Old: "no such text"}, {Old: "s"}} {
		wrong.Name, wrong.In = "wrong", "."
		if _, err := Overlay(root, t.TempDir(), []Fault{wrong}); err == nil {
			t.Errorf("%q is taken for the place of a fault", wrong.Old)
		}
	}
}

func TestTheChangelogCountsTheFaults(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	if told := fmt.Sprintf(" %d faults planted", len(Faults())); !bytes.Contains(raw, []byte(told)) {
		t.Errorf("it does not say that there are%s", told)
	}
}

// The list is for people, who find it in docs/reliability.md.
func TestTheListOfFaultsIsWrittenDown(t *testing.T) {
	var got bytes.Buffer
	got.WriteString("fault | what the program does then | where | shown by | caught by\n--- | --- | --- | --- | ---\n")
	for _, f := range Faults() {
		fmt.Fprintln(&got, f)
	}
	const golden = "testdata/caught.golden"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("(-want +got; -update writes it anew):\n%s", diff)
	}
}
