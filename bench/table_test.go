package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var someRows = []row{
	{metric: metric{id: "event-cpu-json", unit: "µs/event", target: 0.08}, ours: 30.24, peer: 400.1, oursSpread: 0.2},
	{metric: metric{id: "queue-allocs", unit: "allocs/key", absolute: true}, ours: 0, peer: 0},
	{metric: metric{id: "get-hot", unit: "µs", target: 3}, ours: 40, peer: 10},
	{metric: metric{id: "alone", unit: "B", target: 5, absolute: true}, ours: 7, peer: math.NaN()},
}

func TestTableIsAligned(t *testing.T) {
	var b bytes.Buffer
	table(&b, someRows, false)
	lines := strings.Split(b.String(), "\n")
	for _, word := range []string{"unit", "µs/event", "allocs/key", "µs ", "B "} {
		at := -1
		for _, line := range lines {
			if i := strings.Index(line, "  "+word); i >= 0 {
				at = len([]rune(line[:i]))
			}
		}
		head, _, _ := strings.Cut(lines[0], "  unit")
		if first := len([]rune(head)); at != first {
			t.Errorf("%q stands at %d, not below the others at %d:\n%s", word, at, first, &b)
		}
	}
	for i, verdict := range []string{"verdict", "met", "met", "missed", "missed"} {
		if !strings.HasSuffix(lines[i], " "+verdict) {
			t.Errorf("line %q does not say %s", lines[i], verdict)
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("colours where nobody looks")
	}
}

func TestTheRatioDecidesUnlessTheTargetIsAbsolute(t *testing.T) {
	for _, c := range []struct {
		r   row
		met bool
	}{
		{row{metric: metric{target: 0.5}, ours: 5, peer: 10}, true},
		{row{metric: metric{target: 0.5}, ours: 6, peer: 10}, false},
		{row{metric: metric{target: 0.5}, ours: 0, peer: 0}, false},
		{row{metric: metric{target: 5, absolute: true}, ours: 5, peer: 1}, true},
		{row{metric: metric{target: 5, absolute: true}, ours: 6, peer: 100}, false},
	} {
		if c.r.met() != c.met {
			t.Errorf("%+v: met is %v", c.r, c.r.met())
		}
	}
}

func TestOfTimesTheLeastIsTakenAndOfTheRestTheMedian(t *testing.T) {
	numbers := []float64{12, 10, 20}
	if n, spread := (metric{noisy: true}).taken(numbers); n != 10 || spread != 1 {
		t.Errorf("%v, %v", n, spread)
	}
	if n, _ := (metric{}).taken(numbers); n != 12 {
		t.Errorf("%v", n)
	}
	if n, _ := (metric{}).taken(nil); !math.IsNaN(n) {
		t.Errorf("%v", n)
	}
}

func TestResultsAreAListOfRows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := writeResults(path, someRows); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []map[string]any
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != len(someRows) || list[0]["id"] != "event-cpu-json" || list[0]["target"] != "≤ 0.08" || list[3]["peer"] != nil {
		t.Errorf("%s", raw)
	}
}

func TestTheTableTakesThePlaceOfTheOneBefore(t *testing.T) {
	page := []byte("# Title\n\n" + beginTable + "\nold\n" + endTable + "\n\nText.\n")
	once, err := withTable(page, someRows)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := withTable(once, someRows)
	if err != nil || !bytes.Equal(once, twice) {
		t.Errorf("written twice it is another page: %v\n%s", err, twice)
	}
	if !bytes.HasPrefix(once, []byte("# Title\n")) || !bytes.HasSuffix(once, []byte("\n\nText.\n")) || bytes.Contains(once, []byte("old")) {
		t.Errorf("%s", once)
	}
	if _, err := withTable([]byte("no markers"), someRows); err == nil {
		t.Error("a page without markers is written to")
	}
}

// A row that was not measured keeps its line, in the order of the table; one that is no
// row any more goes.
func TestLinesOfRowsThatWereNotMeasuredStay(t *testing.T) {
	page := []byte(beginTable + "\n\n| stop | as it was | 2 | 3 | 4 | 5 | met |\n| gone | 1 | 2 | 3 | 4 | 5 | met |\n\n" + endTable)
	for _, ours := range []float64{8, 9} {
		queue := row{metric: metric{id: "queue-1", unit: "ns/key", target: 1}, ours: ours, peer: 10}
		var err error
		if page, err = withTable(page, []row{queue}); err != nil {
			t.Fatal(err)
		}
	}
	want := "\n| queue-1 | 9 | 10 | 0.9 | ns/key | ≤ 1 | met |\n| stop | as it was | 2 | 3 | 4 | 5 | met |\n\n" + endTable
	if !bytes.HasSuffix(page, []byte(want)) {
		t.Errorf("%s", page)
	}
}

func TestEveryRowIsMeasuredOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range experiments() {
		for _, m := range e.metrics {
			if seen[m.id] {
				t.Errorf("%s is measured twice", m.id)
			}
			seen[m.id] = true
		}
	}
	for _, e := range experiments() {
		for _, m := range e.metrics {
			if m.peerOf != "" && !seen[m.peerOf] {
				t.Errorf("%s refers to %s, which is no row", m.id, m.peerOf)
			}
		}
	}
	if some := chosen(experiments(), regexp.MustCompile("^relist-calls$")); len(some) != 1 || some[0].name != "sync and relist" {
		t.Errorf("chose %v", some)
	}
}
