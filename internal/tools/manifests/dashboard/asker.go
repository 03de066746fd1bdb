package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// asker asks Prometheus' engine what a panel asks.
type asker struct {
	engine   *promql.Engine
	written  func(expr string) string // with values for Grafana's variables
	of       *scrapes
	from, to time.Time
	step     time.Duration
}

// newAsker asks for the whole time of the scrapes, at each of them.
func newAsker(of *scrapes, b board, every time.Duration) *asker {
	shown := time.Duration(of.last-of.first)*time.Millisecond + every // the first scrape is in it
	return &asker{
		written: func(expr string) string { return b.written(expr, every, shown) },
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, Parser: parser.NewParser(parser.Options{}),
		}),
		of: of, from: time.UnixMilli(of.first), to: time.UnixMilli(of.last), step: every,
	}
}

// A line is one series of a panel.
type line struct {
	name   string
	points []promql.FPoint
}

// ask is one line for each series of the answer, in the order of their labels.
func (a *asker) ask(ctx context.Context, t target) ([]line, error) {
	query, err := a.engine.NewRangeQuery(ctx, a.of, nil, a.written(t.Expr), a.from, a.to, a.step)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Expr, err)
	}
	defer query.Close()
	matrix, err := query.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.Expr, err)
	}
	var lines []line
	for _, each := range matrix {
		// The engine takes its points back.
		lines = append(lines, line{legend(t.LegendFormat, each.Metric), append([]promql.FPoint(nil), each.Floats...)})
	}
	return lines, nil
}

var inLegend = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// legend is the name of a series: the format with its labels in it.
func legend(format string, of labels.Labels) string {
	return strings.TrimSpace(inLegend.ReplaceAllStringFunc(format, func(found string) string {
		return of.Get(inLegend.FindStringSubmatch(found)[1])
	}))
}
