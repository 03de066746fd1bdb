package metrics

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// own are the families that this package makes, those of the runtime and the process
// left out.
func own(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	families, err := wired(t).registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(families, func(f *dto.MetricFamily) bool { return !ours(f.GetName()) })
}

func ours(name string) bool {
	return !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_")
}

// labelsOf are the names of the labels of a family.
func labelsOf(family *dto.MetricFamily) []string {
	names := map[string]bool{}
	for _, series := range family.GetMetric() {
		for _, label := range series.GetLabel() {
			names[label.GetName()] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// unit is what the values of a metric are in, as its name says it. A count has none.
func unit(name string) string {
	name = strings.TrimSuffix(name, "_total")
	for _, each := range []struct{ suffix, unit string }{
		{"_timestamp_seconds", "seconds since 1970"}, {"_seconds", "seconds"}, {"_bytes", "bytes"}, {"_ratio", "0 to 1"},
	} {
		if strings.HasSuffix(name, each.suffix) {
			return each.unit
		}
	}
	return ""
}

func tableOf(families []*dto.MetricFamily) string {
	var b strings.Builder
	b.WriteString("| metric | type | labels | unit | |\n| --- | --- | --- | --- | --- |\n")
	for _, f := range families {
		labels := ""
		if names := labelsOf(f); len(names) > 0 {
			labels = "`" + strings.Join(names, "` `") + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.GetName(), strings.ToLower(f.GetType().String()), labels, unit(f.GetName()), f.GetHelp())
	}
	return b.String()
}

var page = filepath.Join("..", "..", "docs", "metrics.md")

// The reference is what is exposed: no metric is missing in it, and none is there that
// is no more.
func TestTheTableOfTheDocsIsThatOfTheRegistry(t *testing.T) {
	const begin, end = "<!-- metrics: go test ./internal/metrics -update -->\n", "<!-- end -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(raw), begin)
	table, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	want := tableOf(own(t))
	if table == want {
		return
	}
	if !*update {
		t.Fatalf("%s has another table than the registry (go test -update writes it)", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// What each label can be is written by hand.
func TestEachLabelIsExplained(t *testing.T) {
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	explained, used := map[string]bool{}, map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| [^|]+ \\|$").FindAllStringSubmatch(string(raw), -1) {
		explained[row[1]] = true
	}
	for _, f := range own(t) {
		for _, name := range labelsOf(f) {
			used[name] = true
			if !explained[name] {
				t.Errorf("%s has the label %s, which %s does not explain", f.GetName(), name, page)
			}
		}
	}
	for name := range explained {
		if !used[name] {
			t.Errorf("%s explains %s, and no metric has that label", page, name)
		}
	}
}

// A registry is asked for what it has. A vector in which nothing has happened has
// nothing, and a method that was not called has made nothing: such a metric would be
// missing in the golden file and in the table, and in whatever goes by them.
func TestTheWiredRegistryHasEveryMetric(t *testing.T) {
	source, err := os.ReadFile("metrics_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for method := range reflect.TypeFor[*Registry]().Methods() {
		if !strings.Contains(string(source), "r."+method.Name+"(") {
			t.Errorf("no test calls Registry.%s", method.Name)
		}
	}
	gathered := map[string]bool{}
	for _, f := range own(t) {
		gathered[f.GetName()] = true
	}
	descs := make(chan *prometheus.Desc)
	go func() {
		defer close(descs)
		wired(t).registry.Describe(descs)
	}()
	n := 0
	for desc := range descs {
		name := regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(desc.String())
		if name == nil {
			t.Fatalf("no name in %s", desc)
		}
		if n++; ours(name[1]) && !gathered[name[1]] {
			t.Errorf("%s is registered, and has no series", name[1])
		}
	}
	if n < 60 {
		t.Errorf("only %d metrics are described", n)
	}
}
