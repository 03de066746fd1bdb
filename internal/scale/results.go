package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// A result is what a part has measured.
type result struct {
	Part    string  `json:"part"`
	Title   string  `json:"title"`
	Cores   int     `json:"cores"` // of the machine that it was measured on
	Took    float64 `json:"took"`  // to measure it, in seconds
	Numbers numbers `json:"numbers"`
}

// report prints the table, and keeps the numbers and shows them where it is told to.
func report(w io.Writer, o options, measured []result) error {
	printTable(w, cells(measured))
	if o.results == "" {
		return nil
	}
	known, err := readResults(o.results)
	if err != nil {
		return err
	}
	all := merge(known, measured)
	if err := writeResults(o.results, all); err != nil {
		return err
	}
	if o.page == "" {
		return nil
	}
	page, err := os.ReadFile(o.page)
	if err != nil {
		return err
	}
	if page, err = withTable(page, all); err != nil {
		return fmt.Errorf("%s: %w", o.page, err)
	}
	return os.WriteFile(o.page, page, 0o644)
}

// merge has the new numbers of a part in place of its old ones, and the parts in their
// order.
func merge(old, measured []result) (all []result) {
	for _, p := range parts(0) {
		is := func(r result) bool { return r.Part == p.name }
		for _, from := range [][]result{measured, old} {
			if i := slices.IndexFunc(from, is); i >= 0 {
				all = append(all, from[i])
				break
			}
		}
	}
	return all
}

func readResults(path string) (all []result, err error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

func writeResults(path string, all []result) error {
	raw, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o644)
}

const (
	beginTable = "<!-- the table: written by `make bench-scale`, do not edit -->"
	endTable   = "<!-- end of the table of bench-scale -->"
)

// withTable puts the table into a page, in place of the one between the markers.
func withTable(page []byte, all []result) ([]byte, error) {
	before, rest, found := bytes.Cut(page, []byte(beginTable))
	_, after, ends := bytes.Cut(rest, []byte(endTable))
	if !found || !ends {
		return nil, errors.New("no markers for the table: " + beginTable)
	}
	var b bytes.Buffer
	b.Write(before)
	b.WriteString(beginTable + "\n")
	if len(all) > 0 {
		writeTable(&b, all)
	}
	b.WriteString(endTable)
	b.Write(after)
	return b.Bytes(), nil
}

// writeTable writes it in Markdown.
func writeTable(b *bytes.Buffer, all []result) {
	took := 0.0
	for _, r := range all {
		took += r.Took
	}
	fmt.Fprintf(b, "\nMeasured on %d cores, in %.0f minutes.\n\n", all[0].Cores, math.Ceil(took/60))
	lines := cells(all)
	rule := append(make([]string, 0, len(all)+3), "---")
	for range all {
		rule = append(rule, "--:")
	}
	for _, line := range slices.Insert(lines, 1, append(rule, "---", "---")) {
		fmt.Fprintf(b, "| %s |\n", strings.Join(line, " | "))
	}
	b.WriteByte('\n')
}
