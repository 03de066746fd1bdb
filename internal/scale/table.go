package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A row is one quantity, of each part that measures it.
type row struct {
	id, title string
	show      func(float64) string
	target    target
}

// A target is a bound that a number must keep, of the parts that it is for.
type target struct {
	text  string // empty: none
	parts string // a part whose name begins so
	met   func(float64) bool
}

func none() target { return target{} }

// most is a target beside many completed runs.
func most(n float64, text string) target {
	return target{"≤ " + text, "completed", func(got float64) bool { return got <= n }}
}

// rows are all that there are, in the order of the table.
func rows() []row {
	seconds := func(n float64) string { return short(n) + " s" }
	mebibytes := func(n float64) string { return short(n/(1<<20)) + " MiB" }
	return []row{
		{"rate", "TaskRuns a second", short, target{"≥ 30", "taskruns", func(got float64) bool { return got >= 30 }}},
		{"cpu", "the controller's CPU time", seconds, none()},
		{"cpu-each", "… for each TaskRun", func(n float64) string { return short(n) + " ms" }, none()},
		{"rss-peak", "its memory at most", mebibytes, none()},
		{"requests-post", "its requests: POST", count, none()},
		{"requests-put", "… PUT", count, none()},
		{"requests-patch", "… PATCH", count, none()},
		{"requests-get", "… GET, list and watch", count, none()},
		{"requests-each", "… all, for each TaskRun", short, none()},
		{"wait-p50", "wait in the queue of TaskRuns, of half of them", within, none()},
		{"wait-p99", "… of 99 in 100", within, none()},
		{"pipelines-wait-p50", "wait in the queue of PipelineRuns, of half of them", within, none()},
		{"pipelines-wait-p99", "… of 99 in 100", within, none()},
		{"start-ready", "start: until its caches are full", seconds, none()},
		{"start-steady", "start: until it has looked at each run", seconds, none()},
		{"rss-rest", "memory at rest", mebibytes, most(150<<20, "150 MiB")},
		{"rest-after", "… after", seconds, none()},
		{"after-crash", "kill -9: a new run has its pod after", seconds, most(20, "20 s")},
		{"after-stop", "stop and start: a new run has its pod after", seconds, most(5, "5 s")},
		{"standby-crash", "… beside a standby: kill -9", seconds, most(20, "20 s")},
		{"standby-stop", "… and a stop", seconds, most(5, "5 s")},
	}
}

// count is a whole number.
func count(n float64) string { return thousands(int(n)) }

// short has three digits that count.
func short(n float64) string {
	if n >= 100 {
		return thousands(int(math.Round(n)))
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

// within is a bound of a histogram, in seconds.
func within(n float64) string {
	switch {
	case n < 0.001:
		return fmt.Sprintf("≤ %s µs", short(n*1e6))
	case n < 1:
		return fmt.Sprintf("≤ %s ms", short(n*1e3))
	}
	return fmt.Sprintf("≤ %s s", short(n))
}

// cells are the table as text: a line for the head, and one for each row that a part
// has measured.
func cells(measured []result) [][]string {
	head := append(make([]string, 0, len(measured)+3), "")
	for _, r := range measured {
		head = append(head, r.Title)
	}
	lines := [][]string{append(head, "target", "")}
	for _, row := range rows() {
		line, some := []string{row.title}, false
		verdict := ""
		for _, r := range measured {
			n, known := r.Numbers[row.id]
			if !known {
				line = append(line, "–")
				continue
			}
			some = true
			line = append(line, row.show(n))
			if row.target.text != "" && strings.HasPrefix(r.Part, row.target.parts) && verdict != "missed" {
				verdict = "met"
				if !row.target.met(n) {
					verdict = "missed"
				}
			}
		}
		if some {
			lines = append(lines, append(line, row.target.text, verdict))
		}
	}
	return lines
}

// printTable prints the table aligned, numbers to the right.
func printTable(w io.Writer, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		var b strings.Builder
		for i, cell := range line {
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if number := i > 0 && i < len(line)-2; number {
				cell, space = space+cell, ""
			}
			b.WriteString(cell + space + "  ")
		}
		_, _ = fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
