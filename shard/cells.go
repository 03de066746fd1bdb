package shard

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Weights is how many bytes the objects of each namespace take while they are plain, by
// its hash. Packing must not change it, or it would be said of two replicas with as many
// objects that one is ten times as heavy as the other.
type Weights map[uint64]int64

// A Cell is where a boundary may be: what stands at From and after it, up to the next
// Cell, weighs so many bytes.
type Cell struct {
	From  uint64
	Bytes int64
}

const (
	// grid is into how many equal parts the hashes are cut where nobody knows better.
	// No cell crosses a line of it. As many as shards can be, for each has to get a cell.
	grid = Most
	// mostCells is about how many cells a replica tells of. An annotation of so many is
	// 4 KB; a boundary that they allow is wrong by half a cell, which is 0.4% of a share.
	mostCells = 128
)

// Summarize is what a replica tells of its weights: cells of about the same weight,
// each beginning at a namespace. A namespace is never cut.
func (w Weights) Summarize() (cells []Cell) {
	var total int64
	for _, bytes := range w {
		total += bytes
	}
	enough := total / mostCells
	for _, hash := range slices.Sorted(maps.Keys(w)) {
		last := len(cells) - 1
		if last >= 0 && cells[last].Bytes+w[hash]/2 <= enough && lineOf(cells[last].From) == lineOf(hash) {
			cells[last].Bytes += w[hash]
			continue
		}
		cells = append(cells, Cell{hash, w[hash]})
	}
	return cells
}

func lineOf(hash uint64) uint64 { return hash / (math.MaxUint64/grid + 1) }

// fill adds the lines of the grid to cells that replicas have told of, so that they
// cover all hashes.
func fill(told []Cell) []Cell {
	bytes := Weights{}
	for line := range uint64(grid) {
		bytes[line*(math.MaxUint64/grid+1)] = 0
	}
	for _, c := range told {
		bytes[c.From] += c.Bytes
	}
	cells := make([]Cell, 0, len(bytes))
	for _, from := range slices.Sorted(maps.Keys(bytes)) {
		cells = append(cells, Cell{from, bytes[from]})
	}
	return cells
}

// formatCells writes cells for an annotation: "0x4000000000000000=1234 …".
func formatCells(cells []Cell) string {
	text := make([]string, len(cells))
	for i, c := range cells {
		text[i] = hex(c.From) + "=" + strconv.FormatInt(c.Bytes, 10)
	}
	return strings.Join(text, " ")
}

func parseCells(text string) (cells []Cell, err error) {
	for one := range strings.FieldsSeq(text) {
		from, bytes, _ := strings.Cut(one, "=")
		var c Cell
		if c.From, err = parseHash(from); err != nil {
			return nil, err
		}
		if c.Bytes, err = strconv.ParseInt(bytes, 10, 64); err != nil || c.Bytes < 0 {
			return nil, fmt.Errorf("weight %q: want a number of bytes", one)
		}
		cells = append(cells, c)
	}
	return cells, nil
}
