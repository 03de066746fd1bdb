package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strings"
	"time"
)

// measuring is one run of the command.
type measuring struct {
	began    time.Time
	progress io.Writer
	profiles string // folder, or empty
	rounds   int    // 0: each experiment's own
}

// row is what came of a metric.
type row struct {
	metric
	ours, peer float64
	// spread is how far the rounds lie apart, as part of the number taken: 0.1 is
	// a tenth.
	oursSpread, peerSpread float64
}

// all measures the experiments one after the other.
func (m measuring) all(ctx context.Context, experiments []experiment) ([]row, error) {
	var rows []row
	for i, e := range experiments {
		m.sayf("%d of %d: %s", i+1, len(experiments), e.name)
		more, err := m.one(ctx, e)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	m.sayf("done")
	for i, r := range rows {
		for _, other := range rows {
			if r.peerOf == other.id && r.peerOf != "" {
				rows[i].peer, rows[i].peerSpread = other.peer, other.peerSpread
			}
		}
	}
	return rows, nil
}

func (m measuring) sayf(format string, args ...any) {
	d := time.Since(m.began).Round(time.Second)
	_, _ = fmt.Fprintf(m.progress, "%2d:%02d  %s\n", d/time.Minute, d%time.Minute/time.Second, fmt.Sprintf(format, args...))
}

// one measures the sides of an experiment in turn: first one of them begins,
// then the other.
func (m measuring) one(ctx context.Context, e experiment) ([]row, error) {
	b, err := e.prepare(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", e.name, err)
	}
	defer b.close()
	rounds := e.rounds
	if m.rounds > 0 {
		rounds = m.rounds
	}
	numbers := map[side][][]float64{}
	for i := range rounds {
		sides := e.sides()
		if i%2 == 1 {
			slices.Reverse(sides)
		}
		for _, s := range sides {
			n, err := m.round(ctx, e, b, s, i)
			if err != nil {
				return nil, err
			}
			numbers[s] = append(numbers[s], n)
			m.sayf("        %s: %s", s, e.text(n))
		}
	}
	return e.rows(numbers), nil
}

// text is what a round has measured, in a line.
func (e experiment) text(numbers []float64) string {
	parts := make([]string, len(e.metrics))
	for i, m := range e.metrics {
		parts[i] = number(numbers[i]) + " " + m.unit
	}
	return strings.Join(parts, ", ")
}

func (m measuring) round(ctx context.Context, e experiment, b *bench, s side, i int) ([]float64, error) {
	if m.profiles != "" && i == 0 {
		f, err := os.Create(filepath.Join(m.profiles, strings.ReplaceAll(e.name, " ", "-")+"."+string(s)+".prof"))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, fmt.Errorf("profile %s: %w", e.name, err)
		}
		defer pprof.StopCPUProfile()
	}
	return e.measure(ctx, b, s)
}

// rows makes one number of those of all rounds.
func (e experiment) rows(numbers map[side][][]float64) []row {
	rows := make([]row, len(e.metrics))
	for i, m := range e.metrics {
		r := &rows[i]
		r.metric = m
		r.ours, r.oursSpread = m.taken(column(numbers[us], i))
		r.peer, r.peerSpread = m.taken(column(numbers[them], i))
	}
	return rows
}

func column(rounds [][]float64, i int) []float64 {
	c := make([]float64, len(rounds))
	for j, r := range rounds {
		c[j] = r[i]
	}
	return c
}

// taken is the number that stands for several, and their spread.
func (m metric) taken(numbers []float64) (number, spread float64) {
	if len(numbers) == 0 {
		return math.NaN(), 0
	}
	numbers = slices.Sorted(slices.Values(numbers))
	least, most := numbers[0], numbers[len(numbers)-1]
	number = median(numbers)
	if m.noisy {
		number = least
	}
	if number > 0 {
		spread = (most - least) / number
	}
	return number, spread
}

func median(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// ratio is ours by theirs; NaN where theirs is nothing.
func (r row) ratio() float64 {
	if r.peer == 0 {
		return math.NaN()
	}
	return r.ours / r.peer
}

// met says whether the target is met.
func (r row) met() bool {
	if r.absolute {
		return r.ours <= r.target
	}
	return r.ratio() <= r.target
}
