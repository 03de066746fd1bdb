package workqueue

import (
	"os"
	"strings"
	"testing"
)

// The table of states in doc.go is what the code does: the test fills in a
// table by asking merge, and looks for each of its lines in the documentation.
func TestTableOfStatesInTheDocumentation(t *testing.T) {
	const early, late = 5, 9
	type row struct {
		held bool
		have wish
	}
	rows := []row{
		{false, wish{}},
		{false, wish{state: Waiting, due: early}},
		{false, wish{state: BackingOff, due: early}},
		{false, wish{state: Ready}},
		{true, wish{}},
		{true, wish{state: Waiting, due: early}},
		{true, wish{state: BackingOff, due: early}},
		{true, wish{state: Ready}},
		{true, wish{state: Ready, marks: urgent}},
	}
	asks := []wish{
		{state: Ready},
		{state: Ready, marks: urgent},
		{state: Waiting, due: late},
		{state: BackingOff, due: late},
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		documented[strings.Join(columns(line), " | ")] = true
	}
	for _, r := range rows {
		line := []string{name(r.held, r.have, true)}
		for _, ask := range asks {
			cell := name(r.held, merge(r.held, r.have, ask), false)
			if ask.due > 0 && ask.state == r.have.state && merge(r.held, r.have, ask) == r.have {
				earlier := ask
				earlier.due = early - 1
				if merge(r.held, r.have, earlier) == earlier {
					cell += " *"
				}
			}
			line = append(line, cell)
		}
		if got := strings.Join(line, " | "); !documented[got] {
			t.Errorf("doc.go has no such line:\n%s", got)
		}
	}
}

// columns splits a line of the table, whose columns are two spaces apart.
func columns(line string) []string {
	var out []string
	for cell := range strings.SplitSeq(strings.TrimPrefix(line, "//"), "  ") {
		if cell = strings.TrimSpace(cell); cell != "" {
			out = append(out, cell)
		}
	}
	return out
}

func name(held bool, w wish, showUrgent bool) string {
	then := w.state.String()
	if w.is(urgent) && showUrgent {
		then = "urgent"
	}
	switch {
	case !held:
		return then
	case w.state == Idle:
		return "processing"
	default:
		return "processing, then " + then
	}
}
