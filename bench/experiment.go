package main

import (
	"context"
	"fmt"
)

// metric is one row of the table.
type metric struct {
	id   string
	unit string
	// target is the most that is wanted: of the ratio, or of our own number where
	// it is absolute.
	target   float64
	absolute bool
	// noisy is for times: what else the machine does can only add to them, so the
	// least of several rounds is the nearest to the truth. Of the rest the median
	// is taken.
	noisy bool
	// peerOf names the row whose number of client-go's stands here too, where
	// client-go has nothing of the kind.
	peerOf string
}

// experiment measures one thing on either side, for one or more rows.
type experiment struct {
	name    string
	rounds  int
	metrics []metric
	// prepare makes what both sides need.
	prepare func(ctx context.Context) (*bench, error)
}

// bench is what an experiment has prepared.
type bench struct {
	// run measures once, and returns a number for each metric.
	run func(ctx context.Context, s side) ([]float64, error)
	// done gives back what prepare took; nil if there is nothing.
	done func()
}

func (b *bench) close() {
	if b.done != nil {
		b.done()
	}
}

// measure runs one round.
func (e experiment) measure(ctx context.Context, b *bench, s side) ([]float64, error) {
	tidy()
	numbers, err := b.run(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", e.name, s, err)
	}
	return numbers, nil
}

// sides are those that have something to measure.
func (e experiment) sides() []side {
	for _, m := range e.metrics {
		if m.peerOf == "" {
			return []side{us, them}
		}
	}
	return []side{us}
}
