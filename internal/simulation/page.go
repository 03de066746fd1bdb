package simulation

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

// mostRows is how many lines a page has at most: those that matter come first.
const mostRows = 4000

// page is what page.html shows.
type page struct {
	Title, Commit, Words, Command string
	Violations                    []breach
	Fired                         []string
	Lanes                         []lane
	Runs                          []filter
	Rows                          []row
	LeftOut                       int
	Lasted                        string
}

// breach is a violation, and the row that tells of it.
type breach struct {
	ID, Says, What, At string
	Row                int
}

// lane is a column: who does something.
type lane struct {
	Name, Class string // Class is of HTML
	Marks       []mark
}

// filter shows the rows of one run.
type filter struct {
	Name   string
	N      int
	Broken bool
}

// row is a line of the timeline.
type row struct {
	N                      int
	At, Who, Text, Note    string
	Lane                   string // its Class
	Column                 int    // from 1
	Run                    int    // of page.Runs; 0: none
	Fault, Breach, Matters bool
	Next                   int // the row of the next fault or breach, if this one is of one; 0: none

	at time.Duration
}

// mark is a fault or breach on the strip at the top.
type mark struct {
	Row    int
	Left   float64 // percent
	Breach bool
	Text   string
}

// Tell tells what a plan came to, as a text and as a page.
func (r *Result) Tell(commit string) (text string, html []byte) {
	var words, marked bytes.Buffer
	r.Explain(&words, commit)
	if err := r.Page(&marked, commit); err != nil {
		panic(err) // the template is this package's own
	}
	return words.String(), marked.Bytes()
}

// Page writes what Explain tells as one HTML page: a lane for the users, the API
// server, each replica and the kubelets, with a filter by run. It needs nothing
// from elsewhere, and has no script.
func (r *Result) Page(out io.Writer, commit string) error {
	t, err := template.New("page").Parse(pageText)
	if err != nil {
		return fmt.Errorf("the page's template: %w", err)
	}
	return t.Execute(out, r.page(commit))
}

func (r *Result) page(commit string) page {
	p := page{
		Title: "nothing is broken", Commit: commit, Words: r.Plan.InWords(), Command: r.Plan.Command(),
		Fired: r.inOrder(), Lanes: r.lanes(), Lasted: clock(r.Lasted),
	}
	broken := r.about(r.Violations...)
	for i, run := range r.runs() {
		p.Runs = append(p.Runs, filter{Name: run, N: i + 1, Broken: slices.Contains(broken, run)})
	}
	p.Rows, p.LeftOut = r.rows(p.Lanes, r.runs())
	for _, v := range r.Violations {
		at := slices.IndexFunc(p.Rows, func(row row) bool { return row.Breach && strings.Contains(row.Text, v.What) })
		p.Violations = append(p.Violations, breach{v.Invariant, says(v.Invariant), v.What, clock(v.At), at + 1})
	}
	if len(r.Violations) > 0 {
		p.Title = r.Violations[0].Invariant + " is broken: " + says(r.Violations[0].Invariant)
	}
	r.mark(p.Lanes, p.Rows)
	return p
}

// The lanes that are there always, in order; replicas come before the last.
const (
	usersLane, serverLane, kubeletLane = "users", "API server", "kubelets"
)

func (r *Result) lanes() []lane {
	lanes := []lane{{Name: usersLane, Class: "users"}, {Name: serverLane, Class: "server"}}
	var replicas []string
	for _, l := range r.Lines {
		if program(l.Actor) {
			replicas = append(replicas, laneOf(l.Actor))
		}
	}
	slices.Sort(replicas)
	for i, name := range slices.Compact(replicas) {
		lanes = append(lanes, lane{Name: name, Class: fmt.Sprint("replica", i%2)})
	}
	return append(lanes, lane{Name: kubeletLane, Class: "kubelets"})
}

// laneOf is where an actor acts. All lives of a replica are one.
func laneOf(actor string) string {
	switch {
	case program(actor):
		pod, _, _ := strings.Cut(actor, ".")
		return pod
	case strings.HasPrefix(actor, "kubelet"):
		return kubeletLane
	case actor == "user" || actor == "foreign writer":
		return usersLane
	default: // nobody, the cluster's own controllers, the server itself
		return serverLane
	}
}

func (r *Result) rows(lanes []lane, runs []string) (rows []row, leftOut int) {
	matters := r.matters()
	fewer := len(r.Lines) > mostRows
	for _, l := range r.Lines {
		if fewer && !matters(l) {
			leftOut++
			continue
		}
		rows = append(rows, newRow(len(rows)+1, l, lanes, runs, matters(l)))
	}
	next := 0
	for i := len(rows) - 1; i >= 0; i-- {
		if rows[i].Fault || rows[i].Breach {
			rows[i].Next, next = next, i+1
		}
	}
	return rows, leftOut
}

func newRow(n int, l Line, lanes []lane, runs []string, matters bool) row {
	column := slices.IndexFunc(lanes, func(x lane) bool { return x.Name == laneOf(l.Actor) })
	text, note, _ := strings.Cut(l.Text, "  ⚡ ")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "⚡ "), "✗ ")
	run, found := slices.BinarySearch(runs, l.Run)
	if found {
		run++
	} else {
		run = 0
	}
	return row{
		N: n, At: clock(l.At), Who: cmp.Or(l.Actor, lanes[column].Name), Text: strings.TrimPrefix(text, l.Actor+" "), Note: note,
		Lane: lanes[column].Class, Column: column + 1, Run: run, Fault: l.Fault(), Breach: l.Breach(), Matters: matters, at: l.At,
	}
}

// mark puts faults and breaches on the strip, by when they come.
func (r *Result) mark(lanes []lane, rows []row) {
	for _, row := range rows {
		if row.Fault || row.Breach {
			left := min(100*row.at.Seconds()/max(r.Lasted.Seconds(), 1), 100)
			on := &lanes[row.Column-1]
			on.Marks = append(on.Marks, mark{row.N, math.Round(100*left) / 100, row.Breach, strings.TrimSpace(row.At + " " + row.Text + " " + row.Note)})
		}
	}
}

// clock writes a time as people read it: 1:23:45.678901.
func clock(d time.Duration) string {
	hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, d-d.Truncate(time.Minute)
	if hours > 0 {
		return fmt.Sprintf("%d:%02d:%09.6f", hours, minutes, seconds.Seconds())
	}
	return fmt.Sprintf("%d:%09.6f", minutes, seconds.Seconds())
}
