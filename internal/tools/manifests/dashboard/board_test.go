package main

import (
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
)

func shipped(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "manifests", "components", "monitoring", "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// scraped is a storage of these scrapes of one pod, five seconds apart.
func scraped(t *testing.T, texts ...string) *scrapes {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "millrace-1"), 0o755); err != nil {
		t.Fatal(err)
	}
	for n, text := range texts {
		name := filepath.Join(folder, "millrace-1", fmt.Sprintf("%d.txt", 1_800_000_000_000+5000*n))
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := readScrapes(folder)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Each kind, unit and colour of the shipped dashboard is known, and each query is one:
// Prometheus' engine answers it.
func TestEachPanelCanBeDrawn(t *testing.T) {
	b, err := readBoard(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	a := newAsker(scraped(t, "workqueue_depth{name=\"taskrun\"} 3\n", "workqueue_depth{name=\"taskrun\"} 5\n"), b, 5*time.Second)
	html, err := draw(t.Context(), b, a)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range b.Panels {
		if !strings.Contains(string(html), "<h2>"+template.HTMLEscapeString(p.Title)+"</h2>") {
			t.Errorf("panel %q is not on the page", p.Title)
		}
	}
	if drawn := strings.Count(string(html), "<svg"); drawn != 1 {
		t.Errorf("%d panels show the one metric that there is", drawn)
	}
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	for was, is := range map[string]string{
		`"type": "timeseries"`: `"type": "heatmap"`,
		`"unit": "ops"`:        `"unit": "furlongs"`,
		`"mode": "normal"`:     `"mode": "percent"`,
		`"overrides": []`:      `"overrides": [{}]`,
		`"color": "green"`:     `"color": "teal"`,
		`"min": 0`:             `"min": -1`,
		`"graphMode": "none"`:  `"graphMode": "area"`,
		`"collapsed": false,`:  `"repeat": "pod",`,
		`"mode": "absolute"`:   `"mode": "percentage"`,
		`"showPoints": "auto"`: `"showPoints": "always"`,
	} {
		text := string(shipped(t))
		if !strings.Contains(text, was) {
			t.Fatalf("the dashboard has no %s", was)
		}
		if _, err := readBoard([]byte(strings.Replace(text, was, is, 1))); err == nil {
			t.Errorf("%s is drawn as something else", is)
		}
	}
}

// A legend of what has not happened says nothing, and hides what has. Where nothing is the
// good news it is told.
func TestWhatHasNotHappenedIsNotInALegend(t *testing.T) {
	b, err := readBoard(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	before := `
workqueue_depth{name="taskrun"} 0
workqueue_keys{name="taskrun",state="waiting"} 2
workqueue_keys{name="taskrun",state="dirty"} 0
tekton_pipelines_controller_taskrun_total{status="success"} 7
tekton_pipelines_controller_taskrun_total{status="failed"} 2
tekton_pipelines_controller_taskrun_total{status="cancelled"} 0
controller_runtime_reconcile_errors_total{controller="taskrun"} 0
reconcile_damped_total{controller="taskrun"} 0
informer_queued_items{resource="pods"} 0
informer_store_objects{resource="pods",tier="plain"} 3
informer_store_objects{resource="pods",tier="packed"} 0
reconcile_hot_loop_keys{controller="taskrun"} 0
quarantined_keys{resource="pods"} 0
`
	after := strings.Replace(before, "} 7\n", "} 9\n", 1)
	html, err := draw(t.Context(), b, newAsker(scraped(t, before, after, after), b, 5*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, told := range []string{"taskrun", "taskrun waiting", "TaskRun success", "taskrun errors", "all", "pods plain"} {
		if !strings.Contains(string(html), "</s>"+told+"</span>") {
			t.Errorf("no legend has %q", told)
		}
	}
	for _, silent := range []string{"taskrun dirty", "TaskRun failed", "TaskRun cancelled", "taskrun damped", "pods", "pods packed"} {
		if strings.Contains(string(html), "</s>"+silent+"</span>") {
			t.Errorf("a legend has %q, which has not been in that time", silent)
		}
	}
	if !strings.Contains(string(html), `<small>quarantine</small><b class="value" style="color: var(--green)">0</b>`) {
		t.Error("that nothing is in quarantine is not told")
	}
}

// What is alone has no line, and is a point where those are shown.
func TestAPointWithoutNeighboursIsSeen(t *testing.T) {
	b, err := readBoard(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	with, without := "workqueue_longest_running_processor_seconds{name=\"taskrun\"} 1\n", "workqueue_depth{name=\"taskrun\"} 0\n"
	html, err := draw(t.Context(), b, newAsker(scraped(t, without, without, with, without), b, 5*time.Second))
	if err != nil || strings.Count(string(html), "<circle ") != 1 {
		t.Errorf("%d points, %v", strings.Count(string(html), "<circle "), err)
	}
}

// The numbers are those of Prometheus: a series that is gone ends at the first scrape
// without it, and a rate needs two. Theirs are of twenty seconds, though there were only
// five or ten; the engine takes it that half a scrape more was as those (10·7.5/5/20).
func TestTheEngineAnswers(t *testing.T) {
	b, err := readBoard(shipped(t))
	if err != nil {
		t.Fatal(err)
	}
	a := newAsker(scraped(t,
		"runs_total 10\nsettings_invalid{key=\"a\"} 1\n",
		"runs_total 20\nsettings_invalid{key=\"a\"} 1\n",
		"runs_total 40\n",
	), b, 5*time.Second)
	for query, want := range map[target]string{
		{`settings_invalid{job="millrace",pod=~"$pod"}`, "{{pod}} {{ key }}"}: "millrace-1 a: 1 1",
		{`rate(runs_total[$__rate_interval])`, "runs"}:                        "runs: 0.75 1.88",
		{`nothing`, ""}: "",
	} {
		lines, err := a.ask(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, each := range lines {
			text := each.name + ":"
			for _, point := range each.points {
				text += fmt.Sprintf(" %.3g", point.F)
			}
			got = append(got, text)
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", query.Expr, got, want)
		}
	}
}

func TestUnits(t *testing.T) {
	for _, each := range []struct {
		unit  string
		value float64
		want  string
	}{
		{"short", 0, "0"}, {"short", 1234, "1.23 K"}, {"ops", 0.05, "0.05 ops/s"}, {"bytes", 3 << 20, "3 MiB"},
		{"percentunit", 0.5, "50%"}, {"s", 0.0025, "2.5 ms"}, {"s", 604800, "7 days"}, {"s", 0, "0 s"},
	} {
		if got := unit(each.unit)(each.value); got != each.want {
			t.Errorf("%v %s: %q, want %q", each.value, each.unit, got, each.want)
		}
	}
}

// What is stacked lies on the lines before it, at the times that it has.
func TestStackedLines(t *testing.T) {
	at := func(t int64, v float64) promql.FPoint { return promql.FPoint{T: t, F: v} }
	lines := []line{{"a", []promql.FPoint{at(1, 2), at(2, 3)}}, {"b", []promql.FPoint{at(2, 4), at(3, math.NaN()), at(9, 1)}}}
	bands := bandsOf(lines, true)
	if got, want := fmt.Sprint(bands), "[[{1 0 2} {2 0 3}] [{2 3 7} {9 0 1}]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if runs := bands[1].runs(3 * time.Millisecond); len(runs) != 2 {
		t.Errorf("%d parts, though there is a hole", len(runs))
	}
	if most(bands) != 7 || most(bandsOf(lines, false)) != 4 {
		t.Error("the graph has another height")
	}
}

// The lines of a grid are at round numbers, as they are written.
func TestStepsAreRound(t *testing.T) {
	for _, each := range []struct {
		top  float64
		unit string
		want string
	}{{0, "short", "0.5"}, {3, "short", "1"}, {130, "s", "1 min"}, {1.5 * (1 << 20), "bytes", "512 KiB"}, {0.9, "percentunit", "50%"}} {
		if got := unit(each.unit)(stepOf(each.top, each.unit)); got != each.want {
			t.Errorf("up to %v %s: %s, want %s", each.top, each.unit, got, each.want)
		}
	}
}

// What there is no room for is counted, and what is named has room.
func TestALegendNamesTheHighest(t *testing.T) {
	var lines []line
	for n := range 40 {
		lines = append(lines, line{fmt.Sprintf("a name of thirty letters as %02d", n), []promql.FPoint{{T: 1, F: float64(n)}}})
	}
	text, rows := legendOf(lines, 400)
	if rows != legendMost || !strings.Contains(string(text), "as 39</span>") || strings.Contains(string(text), "as 00<") || !strings.Contains(string(text), "and 36 more") {
		t.Errorf("%d lines of text: %s", rows, text)
	}
}
