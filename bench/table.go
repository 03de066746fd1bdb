package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"
)

// header is the columns of the table, of which the first and the last are words.
func header() []string {
	return []string{"id", "ours", "client-go's", "ratio", "unit", "target", "verdict"}
}

// cells is a row as text.
func (r row) cells() []string {
	return []string{
		r.id, number(r.ours) + spread(r.oursSpread), number(r.peer) + spread(r.peerSpread), number(r.ratio()), r.unit, r.targetText(), r.verdict(),
	}
}

func (r row) targetText() string {
	if r.absolute {
		return "≤ " + number(r.target) + " absolute"
	}
	return "≤ " + number(r.target)
}

func (r row) verdict() string {
	if r.met() {
		return "met"
	}
	return "missed"
}

// number has three digits that count, and no more than it needs.
func number(n float64) string {
	switch {
	case math.IsNaN(n):
		return "–"
	case n >= 100:
		return strconv.FormatFloat(n, 'f', 0, 64)
	case n > 0 && n < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(n, 'g', 3, 64)
}

// spread says how far rounds lay apart, where that is worth a word.
func spread(part float64) string {
	if part < 0.01 {
		return ""
	}
	return fmt.Sprintf(" ±%.0f%%", part*50)
}

// table prints rows aligned, with colours if they are to be looked at.
func table(w io.Writer, rows []row, colours bool) {
	lines := make([][]string, 1+len(rows))
	lines[0] = header()
	for i, r := range rows {
		lines[1+i] = r.cells()
	}
	widths := make([]int, len(header()))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i, line := range lines {
		var b strings.Builder
		for j, cell := range line {
			b.WriteString(padded(cell, widths[j], j > 0 && j < 4))
			b.WriteString("  ")
		}
		text := strings.TrimRight(b.String(), " ")
		if colours && i > 0 {
			text = coloured(text, rows[i-1].met())
		}
		_, _ = fmt.Fprintln(w, text)
	}
}

func padded(cell string, width int, right bool) string {
	space := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if right {
		return space + cell
	}
	return cell + space
}

func coloured(text string, good bool) string {
	if good {
		return "\x1b[32m" + text + "\x1b[0m"
	}
	return "\x1b[31m" + text + "\x1b[0m"
}

// result is a row in results.json. Peer and ratio are null where there is none.
type result struct {
	ID     string   `json:"id"`
	Ours   float64  `json:"ours"`
	Peer   *float64 `json:"peer"`
	Ratio  *float64 `json:"ratio"`
	Unit   string   `json:"unit"`
	Target string   `json:"target"`
}

func writeResults(path string, rows []row) error {
	list := make([]result, len(rows))
	for i, r := range rows {
		list[i] = result{r.id, r.ours, known(r.peer), known(r.ratio()), r.unit, r.targetText()}
	}
	raw, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

func known(n float64) *float64 {
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return nil
	}
	return &n
}

const (
	beginTable = "<!-- the table: written by `make bench`, do not edit -->"
	endTable   = "<!-- end of the table -->"
)

// writeDocs puts the rows into a page, into the table between the markers. Lines of rows
// that were not measured stay as they are.
func writeDocs(path string, rows []row) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	page, err = withTable(page, rows)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, page, 0o644)
}

func withTable(page []byte, rows []row) ([]byte, error) {
	before, rest, found := bytes.Cut(page, []byte(beginTable))
	old, after, ends := bytes.Cut(rest, []byte(endTable))
	if !found || !ends {
		return nil, errors.New("no markers for the table: " + beginTable)
	}
	var b bytes.Buffer
	b.Write(before)
	fmt.Fprintf(&b, "%s\n\nMeasured with %s on %d cores (%s/%s).\n\n", beginTable, runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
	b.WriteString(line(header()))
	b.WriteString(line([]string{"---", "--:", "--:", "--:", "---", "---", "---"}))
	lines := linesOf(old)
	for _, r := range rows {
		lines[r.id] = line(r.cells())
	}
	for _, e := range experiments() {
		for _, m := range e.metrics {
			b.WriteString(lines[m.id])
		}
	}
	b.WriteString("\n" + endTable)
	b.Write(after)
	return b.Bytes(), nil
}

func line(cells []string) string { return "| " + strings.Join(cells, " | ") + " |\n" }

// linesOf are the lines of a table, by what is in the first column.
func linesOf(table []byte) map[string]string {
	lines := map[string]string{}
	for each := range strings.Lines(string(table)) {
		if cells := strings.Split(each, " | "); len(cells) == len(header()) {
			lines[strings.TrimPrefix(cells[0], "| ")] = each
		}
	}
	return lines
}
