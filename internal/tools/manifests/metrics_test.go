package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	corev1 "k8s.io/api/core/v1"
)

// A set is the labels of a metric.
type set map[string]bool

// scraped are the labels that whoever scrapes adds.
func scraped() set {
	return set{"job": true, "namespace": true, "pod": true, "container": true, "instance": true}
}

// exposed are the metrics of the program, with their labels: those of the golden file
// that internal/metrics is tested with, and those of the Go runtime and the process.
func exposed(t *testing.T) map[string]set {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "metrics", "testdata", "series.txt"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]set{}
	add := func(metric string, names ...string) {
		if found[metric] == nil {
			found[metric] = scraped()
		}
		for _, name := range names {
			found[metric][name] = true
		}
	}
	for line := range strings.Lines(string(text)) {
		series, err := promQL().ParseMetric(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		names := slices.DeleteFunc(slices.Collect(maps.Keys(series.Map())), func(name string) bool { return name == model.MetricNameLabel })
		metric := series.Get(model.MetricNameLabel)
		add(metric, names...)
		if histogram, is := strings.CutSuffix(metric, "_count"); is {
			add(histogram+"_bucket", append(names, "le")...)
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		add(family.GetName())
	}
	if len(found) < 60 {
		t.Fatalf("only %d metrics are known", len(found))
	}
	return found
}

// complaints are what a query asks for in vain, or too widely: metrics and labels that
// nobody exposes, and those of other programs.
func complaints(t *testing.T, query string, metrics map[string]set) (all []string) {
	t.Helper()
	expr, err := promQL().ParseExpr(query)
	if err != nil {
		return []string{err.Error()}
	}
	known := scraped()
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			names, is := metrics[n.Name]
			if !is {
				all = append(all, "there is no metric "+n.Name)
			}
			maps.Copy(known, names)
			ours := false
			for _, m := range n.LabelMatchers {
				ours = ours || m.Name == "job" && m.Value == "millrace"
				if m.Name != model.MetricNameLabel && !names[m.Name] {
					all = append(all, n.Name+" has no label "+m.Name)
				}
			}
			if !ours {
				all = append(all, n.Name+" is asked of other programs too")
			}
		case *parser.Call:
			if n.Func.Name == "label_replace" {
				if made, is := n.Args[1].(*parser.StringLiteral); is {
					known[made.Val] = true
				}
			}
		}
		return nil
	})
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if sum, is := node.(*parser.AggregateExpr); is {
			for _, name := range sum.Grouping {
				if !known[name] {
					all = append(all, "nothing in it has the label "+name)
				}
			}
		}
		return nil
	})
	return all
}

func TestRulesAskForWhatIsExposed(t *testing.T) {
	metrics := exposed(t)
	for name, rule := range rules(t) {
		for _, each := range complaints(t, rule.Expr, metrics) {
			t.Errorf("%s: %s", name, each)
		}
	}
}

// What the two tests beside it go by finds what is wrong.
func TestAQueryForNothingIsFound(t *testing.T) {
	metrics := exposed(t)
	for query, want := range map[string]string{
		`workqueue_depth{job="millrace",name="taskrun"}`:       "",
		`workqueue_deepth{job="millrace"}`:                     "there is no metric workqueue_deepth",
		`workqueue_depth{job="millrace",controller="taskrun"}`: "workqueue_depth has no label controller",
		`workqueue_depth`: "workqueue_depth is asked of other programs too",
		`sum by (queue) (workqueue_depth{job="millrace"})`:                     "nothing in it has the label queue",
		`rate(workqueue_queue_duration_seconds_bucket{job="millrace"}[5m]) > `: "parse error",
		`workqueue_queue_duration_seconds{job="millrace"}`:                     "there is no metric workqueue_queue_duration_seconds",
		`go_goroutines{job="millrace"}`:                                        "",
	} {
		got := strings.Join(complaints(t, query, metrics), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

// A dashboard is what of Grafana's JSON is looked at here.
type dashboard struct {
	UID        string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

type panel struct {
	Title, Type, Description string
	GridPos                  struct{ X, Y, W, H int }
	Panels                   []panel
	Targets                  []struct{ Expr string }
}

func TestPanelsAskForWhatIsExposed(t *testing.T) {
	config := the[corev1.ConfigMap](t, rendered(t, "monitoring"))
	if config.Labels["grafana_dashboard"] != "1" {
		t.Error("Grafana would not find it")
	}
	var board dashboard
	if err := json.Unmarshal([]byte(config.Data["millrace.json"]), &board); err != nil {
		t.Fatal(err)
	}
	metrics := exposed(t)
	ask := func(where, query string) {
		// Grafana puts these in before Prometheus sees the query.
		query = strings.NewReplacer("$__rate_interval", "5m", "$__range", "3h", "$pod", ".*").Replace(query)
		for _, each := range complaints(t, query, metrics) {
			t.Errorf("%s: %s", where, each)
		}
	}
	values := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, variable := range board.Templating.List {
		if asked := values.FindStringSubmatch(variable.Query); variable.Type == "query" {
			if asked == nil {
				t.Fatalf("variable %s: %q", variable.Name, variable.Query)
			}
			ask("variable "+variable.Name, asked[1])
		}
	}
	shown := 0
	for _, p := range board.Panels {
		if p.Type != "row" && (len(p.Targets) == 0 || p.Description == "") {
			t.Errorf("panel %q shows nothing, or does not say what", p.Title)
		}
		for _, target := range p.Targets {
			shown++
			ask("panel "+p.Title, target.Expr)
		}
	}
	if shown < 20 {
		t.Errorf("the panels ask for %d things", shown)
	}
}

// Panels that lie on each other are moved by Grafana, each time in another way.
func TestPanelsDoNotOverlap(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(tree, "components", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board dashboard
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]string{}
	for _, p := range board.Panels {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other, is := taken[[2]int{x, y}]; is || x >= 24 {
					t.Fatalf("panel %q lies on %q, or beside the page", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

func promQL() parser.Parser { return parser.NewParser(parser.Options{}) }
