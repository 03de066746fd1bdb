package simulation

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/reliability.md says what is checked, and where each fault is tried.
const reliability = "../../docs/reliability.md"

// faultRows are the rows of the page's table of faults, by number: their columns.
func faultRows(t *testing.T) map[int][]string {
	t.Helper()
	page, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	rows := map[int][]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+) \|(.*)\|$`).FindAllStringSubmatch(string(page), -1) {
		n, _ := strconv.Atoi(row[1])
		rows[n] = strings.Split(row[2], "|")
		if len(rows[n]) != 4 {
			t.Fatalf("row %d has %d columns", n, len(rows[n])+1)
		}
	}
	return rows
}

func TestThePageTellsWhereEachFaultIsTried(t *testing.T) {
	rows := faultRows(t)
	code := regexp.MustCompile("`([^`]*)`")
	var named []string
	for n := 1; n <= 25; n++ {
		row, ok := rows[n]
		if !ok {
			t.Errorf("fault %d has no row", n)
			continue
		}
		for _, kind := range code.FindAllStringSubmatch(row[1], -1) {
			named = append(named, kind[1])
		}
		if strings.TrimSpace(row[1]) == "" && strings.TrimSpace(row[2]) == "0" {
			t.Errorf("fault %d is tried nowhere", n)
		}
	}
	for _, kind := range Kinds() {
		if !slices.Contains(named, kind) {
			t.Errorf("the simulation has %q, and the page does not", kind)
		}
	}
	for i, kind := range named {
		if !slices.Contains(Kinds(), kind) {
			t.Errorf("the page has %q, and the simulation does not", kind)
		}
		if slices.Contains(named[:i], kind) {
			t.Errorf("the page has %q twice", kind)
		}
	}
}

// scenarios.txt is the list of what is tried with a real server, and of which
// faults each is.
func TestThePageCountsTheScenariosOfEachFault(t *testing.T) {
	list, err := os.ReadFile("../e2efaults/testdata/scenarios.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := map[int]int{}
	for line := range strings.Lines(string(list)) {
		for _, word := range strings.Fields(strings.ReplaceAll(line, ",", " "))[1:] {
			n, err := strconv.Atoi(word)
			if err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			count[n]++
		}
	}
	for n, row := range faultRows(t) {
		if told := strings.TrimSpace(row[2]); told != strconv.Itoa(count[n]) {
			t.Errorf("fault %d has %d scenarios, and the page says %s", n, count[n], told)
		}
	}
}

func TestThePageTellsTheInvariants(t *testing.T) {
	raw, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("\n| | |\n| --- | --- |\n")
	for _, i := range Invariants() {
		fmt.Fprintf(&table, "| %s | %s |\n", i.ID, i.Says)
	}
	table.WriteString("\n")
	block := regexp.MustCompile(`(?s)(<!-- invariants:[^>]*-->\n).*(<!-- end -->)`)
	if !block.Match(raw) {
		t.Fatal("the page has no place for them")
	}
	page := block.ReplaceAllString(string(raw), "${1}"+strings.ReplaceAll(table.String(), "$", "$$")+"${2}")
	if *update {
		if err := os.WriteFile(reliability, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if page != string(raw) {
		t.Errorf("the page has other invariants (go test -update writes them anew):\n%s", table.String())
	}
}

func TestThereAreAtMostTenExceptions(t *testing.T) {
	if n := len(exceptions()); n > 10 {
		t.Errorf("%d differences from plays without faults are let pass", n)
	}
	for _, x := range exceptions() {
		if x.because == "" || !slices.ContainsFunc(Workloads(), func(w Workload) bool { return w.Name == x.workload }) {
			t.Errorf("%+v has no reason, or no workload", x)
		}
	}
}

func TestTheChangelogCountsTheWorkloads(t *testing.T) {
	raw, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`(\d+)\s+workloads`).FindSubmatch(raw)
	if n := strconv.Itoa(len(Workloads())); told == nil || string(told[1]) != n {
		t.Errorf("there are %s workloads, and it says %q", n, told)
	}
}
