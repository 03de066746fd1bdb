package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func someResults() []result {
	return []result{
		{"taskruns-few", "1,000 TaskRuns", 2, 61, numbers{"rate": 41.27, "cpu": 3, "rss-peak": 70 << 20, "requests-post": 12345, "wait-p50": 0.0001, "wait-p99": 10}},
		{"completed", "50,000 completed", 2, 59, numbers{"cpu": 123.4, "rss-rest": 151 << 20, "after-stop": 4.2}},
	}
}

func TestTheTableIsAligned(t *testing.T) {
	var b bytes.Buffer
	printTable(&b, cells(someResults()))
	want := strings.TrimPrefix(`
                                                1,000 TaskRuns  50,000 completed  target
TaskRuns a second                                         41.3                 –  ≥ 30       met
the controller's CPU time                                  3 s             123 s
its memory at most                                      70 MiB                 –
its requests: POST                                      12,345                 –
wait in the queue of TaskRuns, of half of them        ≤ 100 µs                 –
… of 99 in 100                                          ≤ 10 s                 –
memory at rest                                               –           151 MiB  ≤ 150 MiB  missed
stop and start: a new run has its pod after                  –             4.2 s  ≤ 5 s      met
`, "\n")
	if b.String() != want {
		t.Errorf("the table is\n%s", &b)
	}
}

// What was not measured this time stays as it was.
func TestPartsThatWereNotMeasuredKeepTheirNumbers(t *testing.T) {
	path, page := filepath.Join(t.TempDir(), "results.json"), filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+beginTable+"\nold\n"+endTable+"\nbehind\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := options{results: path, page: page}
	if err := report(io.Discard, o, someResults()); err != nil {
		t.Fatal(err)
	}
	again := []result{{"taskruns-few", "1,000 TaskRuns", 2, 62, numbers{"rate": 29}}}
	if err := report(io.Discard, o, again); err != nil {
		t.Fatal(err)
	}
	all, err := readResults(path)
	if err != nil || len(all) != 2 || all[0].Numbers["rate"] != 29 || all[1].Numbers["after-stop"] != 4.2 {
		t.Errorf("%+v, %v", all, err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"before\n", "\nMeasured on 2 cores, in 3 minutes.\n", "| TaskRuns a second | 29 | – | ≥ 30 | missed |\n", "| --- | --: | --: | --- | --- |\n", "\nbehind\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("the page has no line %q:\n%s", line, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old table is still there")
	}
}

// As long as there are no results it has none, and the place for it.
func TestThePageHasTheTableOfTheResults(t *testing.T) {
	all, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := withTable(page, all)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(page, want) {
		t.Error("docs/performance.md has another table than results.json: WRITE=1 make bench-scale writes both")
	}
	other, err := withTable(page, someResults())
	if err != nil || !bytes.Contains(other, []byte("| memory at rest | – | 151 MiB |")) {
		t.Errorf("the table of other results does not come into the page: %v", err)
	}
	if back, err := withTable(other, all); err != nil || !bytes.Equal(back, page) {
		t.Errorf("a table does not take the place of another: %v", err)
	}
}
