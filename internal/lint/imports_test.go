package lint

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// A row says which packages of ours a package may import, in its tests too.
// Both sides are paths below the module.
var table = map[string][]string{
	// 0: know nobody, but how two watch one stage
	"internal/hook":   {},
	"internal/intime": {},
	"wire":            {},
	"workqueue":       {"internal/hook"},
	"crds":            {},
	"entrypoint":      {},
	// 1
	"crds/expression": {"internal/intime"},
	"crds/reference":  {"internal/intime", "crds"},
	"crds/conversion": {"crds"},
	"crds/defaulting": {"crds"},
	"reflector":       {"internal/hook", "wire"},
	"fifo":            {"wire"},
	"transform":       {"wire"},
	"reconcile":       {"internal/hook", "workqueue"},
	// 2
	"crds/graph":      {"crds/reference", "crds"},
	"crds/validation": {"internal/intime", "crds/defaulting", "crds/expression", "crds/graph", "crds/reference", "crds"},
	"indexer":         {"fifo", "wire"},
	"shard":           {"reflector", "fifo", "wire"},
	// 3
	"predicate": {"indexer", "fifo", "wire"},
	"handler":   {"indexer", "predicate", "workqueue", "fifo", "wire"},
	// 4
	"reconcile/call":       {"reconcile", "crds"},
	"reconcile/frozen":     {},
	"reconcile/resolution": {"crds"},
	"reconcile/variables":  {"internal/intime", "crds/defaulting", "crds/expression", "crds/reference", "crds"},
	// 5
	"reconcile/taskrun":     {"internal/intime", "internal/verdicts", "reconcile", "crds/conversion", "reconcile/call", "reconcile/frozen", "reconcile/resolution", "reconcile/variables", "crds/expression", "workqueue", "indexer", "fifo", "wire", "crds/validation", "crds/defaulting", "crds/graph", "crds/reference", "crds"},
	"reconcile/pipelinerun": {"internal/verdicts", "reconcile", "crds/conversion", "reconcile/call", "reconcile/frozen", "reconcile/resolution", "reconcile/variables", "crds/expression", "workqueue", "indexer", "fifo", "wire", "crds/validation", "crds/defaulting", "crds/graph", "crds/reference", "crds"},
	// The webhook's rules are pure, and so is the plan for its certificate.
	"webhook":             {"webhook/certificate", "crds/conversion", "crds/defaulting", "crds/validation", "crds"}, // certificate, in a test
	"webhook/certificate": {},
	// A program of somebody else's, on the same stages.
	"examples/foo":  {"reconcile", "reconcile/call", "handler", "predicate", "indexer", "reflector", "fifo", "transform", "workqueue", "wire", "internal/simulation/apiserver"},
	"examples/pods": {"reconcile", "handler", "indexer", "reflector", "fifo", "transform", "workqueue", "wire", "internal/simulation/apiserver"},
	"examples/tour": {"internal/chaintest", "internal/inspect"},
	"examples/wait": {"reconcile", "handler", "indexer", "reflector", "fifo", "workqueue", "crds", "internal/simulation/apiserver"},
	// Beside the chain: what a cluster is measured and tried with.
	"internal/acceptance": {},
	"internal/audit":      {},
	"internal/bench":      {"internal/audit"},
	"internal/complete":   {"crds"},
	"internal/man":        {},
	"internal/chaintest":  {"reflector", "fifo", "transform", "indexer", "predicate", "handler", "workqueue", "reconcile", "wire", "crds", "internal/inspect", "internal/simulation/apiserver"},
	"internal/cgroup":     {},
	"internal/e2e":        {"internal/audit", "internal/cgroup"},
	"internal/e2efaults":  {"crds", "internal/faultproxy", "internal/simulation", "internal/simulation/apiserver"},
	"internal/faultproxy": {"internal/simulation", "internal/simulation/apiserver"},
	"internal/guard":      {},
	"internal/inspect":    {"handler", "predicate", "indexer", "reflector", "fifo", "wire", "workqueue", "reconcile"},
	"internal/lint":       {},
	"internal/logs":       {"crds", "internal/terminal"},
	"internal/metrics":    {"indexer", "reflector", "fifo", "wire", "workqueue", "reconcile", "reconcile/taskrun", "reconcile/pipelinerun", "shard", "webhook", "internal/tracing", "crds"},
	"internal/option":     {},
	"internal/verdicts":   {},
	"internal/operate":    {"crds", "internal/audit", "internal/cgroup"},
	"internal/oracle":     {"indexer", "reflector", "fifo", "transform", "wire", "workqueue"},
	"internal/scale":      {"internal/audit"},
	"internal/settings":   {"internal/option", "reconcile/taskrun", "reconcile/pipelinerun", "crds", "transform"},
	"internal/terminal":   {},
	"internal/tracing":    {"internal/hook", "internal/tracing/tracetest", "indexer", "reflector", "fifo", "handler", "wire", "workqueue", "reconcile", "reconcile/taskrun", "reconcile/pipelinerun", "crds"}, // tracetest, fifo, handler: in tests
	"internal/why":        {"internal/guard", "internal/terminal", "internal/inspect", "shard", "workqueue"},
	// The simulated world: it knows the API, and nothing of the chain that it tries. So
	// does the collector of traces.
	"internal/pictures":             {"crds", "internal/modelcluster", "internal/simulation/apiserver", "internal/tracing/tracetest"},
	"internal/modelcluster":         {"internal/simulation/apiserver", "internal/simulation/kubelet", "internal/simulation/turnstile"},
	"internal/simulation":           {"crds", "internal/simulation/apiserver", "internal/simulation/kubelet", "internal/simulation/turnstile"},
	"internal/simulation/dialogue":  {"internal/simulation/apiserver"},
	"internal/simulation/turnstile": {},
	"internal/tracing/tracetest":    {},
	"internal/simulation/planted":   {"internal/simulation", "internal/simulation/turnstile"},
	"internal/simulation/apiserver": {"crds", "wire", "internal/simulation/turnstile"}, // wire, in a test: it reads what was spoilt
	"internal/simulation/kubelet":   {"crds", "internal/simulation/apiserver", "internal/simulation/turnstile"},
	// 6: main meets all.
}

// ofTests are those that only tests import.
var ofTests = []string{"internal/intime", "internal/verdicts"}

var update = flag.Bool("update", false, "write docs/architecture.md anew")

// Nobody imports these: the stages that they hold are what this project is.
// client-go's leaderelection, which main uses, pulls some of them in itself. The
// oracle imports what it asks, and is tests alone.
var forbidden = []string{
	"k8s.io/client-go/tools/cache",
	"k8s.io/client-go/util/workqueue",
	"k8s.io/client-go/informers",
	"sigs.k8s.io/controller-runtime",
	"knative.dev/",
	"github.com/tektoncd/",
}

type pkg struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func packages(t *testing.T) (all []pkg) {
	t.Helper()
	cmd := exec.Command("go", "list", "-tags", "e2e", "-json=ImportPath,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func (p pkg) imports() []string {
	all := slices.Concat(p.Imports, p.TestImports, p.XTestImports)
	slices.Sort(all)
	return slices.Compact(all)
}

// The page that shows the table has it from here (-update).
func TestTheTableOfImportsIsWrittenDown(t *testing.T) {
	const page, begin, end = "../../docs/architecture.md", "<!-- imports -->\n", "<!-- /imports -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + begin + written() + end + after
	if want == string(raw) {
		return
	}
	if !*update {
		t.Fatalf("%s has another table than this test: go test ./internal/lint -update", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// written is the table for people: without what only tests and examples are.
func written() string {
	var text strings.Builder
	text.WriteString("| package | may import |\n| --- | --- |\n")
	for _, name := range byHeight() {
		if strings.HasPrefix(name, "internal/") || strings.HasPrefix(name, "examples/") {
			continue
		}
		imports := slices.DeleteFunc(slices.Sorted(slices.Values(table[name])), func(name string) bool { return slices.Contains(ofTests, name) })
		for i, each := range imports {
			imports[i] = "`" + each + "`"
		}
		fmt.Fprintf(&text, "| `%s` | %s |\n", name, cmp.Or(strings.Join(imports, ", "), "nobody"))
	}
	return text.String()
}

// byHeight has a package behind those that it may import, and else by name.
func byHeight() []string {
	height := map[string]int{}
	var of func(name string) int
	of = func(name string) int {
		if _, known := height[name]; !known {
			h := 0
			for _, each := range table[name] {
				h = max(h, of(each)+1)
			}
			height[name] = h
		}
		return height[name]
	}
	for name := range table {
		of(name)
	}
	return slices.SortedFunc(maps.Keys(table), func(a, b string) int {
		return cmp.Or(height[a]-height[b], cmp.Compare(a, b))
	})
}

func TestImportsGoDownhill(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, "millrace/")
		if p.ImportPath == "millrace" {
			continue
		}
		allowed, known := table[name]
		if !known {
			t.Errorf("%s is not in the table of imports: give it a row", name)
			continue
		}
		for _, i := range p.imports() {
			ours, is := strings.CutPrefix(i, "millrace/")
			if is && ours != name && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: not downhill; its row allows %v", name, ours, allowed)
			}
		}
	}
}

func TestTheTableNamesOnlyWhatIsThere(t *testing.T) {
	there := map[string]bool{}
	for _, p := range packages(t) {
		there[strings.TrimPrefix(p.ImportPath, "millrace/")] = true
	}
	for name, row := range table {
		for _, each := range append(row, name) {
			if !there[each] {
				t.Errorf("the table names %s, which is no package", each)
			}
		}
	}
}

func TestTheTableHasNoCycle(t *testing.T) {
	var visit func(name string, path []string)
	visit = func(name string, path []string) {
		if slices.Contains(path, name) {
			t.Fatalf("cycle: %v → %s", path, name)
		}
		for _, next := range table[name] {
			visit(next, append(path, name))
		}
	}
	for name := range table {
		visit(name, nil)
	}
}

func TestNobodyImportsTheChainOfOthers(t *testing.T) {
	for _, p := range packages(t) {
		imports := p.imports()
		if p.ImportPath == "millrace/internal/oracle" {
			imports = p.Imports
		}
		for _, i := range imports {
			for _, f := range forbidden {
				if strings.HasPrefix(i, f) {
					t.Errorf("%s imports %s", p.ImportPath, i)
				}
			}
		}
	}
}

// The entrypoint is mounted into every step of every pod: 3 MB, not 30.
func TestTheEntrypointIsStandardLibraryOnly(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != "millrace/entrypoint" {
			continue
		}
		for _, i := range p.Imports {
			if strings.Contains(strings.Split(i, "/")[0], ".") {
				t.Errorf("entrypoint imports %s", i)
			}
		}
		return
	}
	t.Error("there is no entrypoint")
}
