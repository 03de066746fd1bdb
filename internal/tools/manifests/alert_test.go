package main

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// A world is series as a Prometheus would have scraped them, and the engine that it
// asks. Time begins with 0, as it does for promtool.
type world struct {
	engine *promql.Engine
	series []storage.Series
}

// A float is one value at one time, in milliseconds.
type float struct {
	at    int64
	value float64
}

func (f float) T() int64                      { return f.at }
func (f float) ST() int64                     { return 0 }
func (f float) F() float64                    { return f.value }
func (f float) H() *histogram.Histogram       { return nil }
func (f float) FH() *histogram.FloatHistogram { return nil }
func (f float) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (f float) Copy() chunks.Sample           { return f }

// newWorld has the series of a test, one value each interval: "0+1x60", "_x5 3 stale".
func newWorld(t *testing.T, interval time.Duration, input []inputSeries) *world {
	t.Helper()
	w := &world{engine: promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: promQL(),
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
	})}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, each := range input {
		name, values, err := promQL().ParseSeriesDesc(each.Series + " " + each.Values)
		if err != nil {
			t.Fatalf("%s: %v", each.Series, err)
		}
		var samples []chunks.Sample
		for i, v := range values {
			if !v.Omitted {
				samples = append(samples, float{int64(i) * interval.Milliseconds(), v.Value})
			}
		}
		w.series = append(w.series, storage.NewListSeries(name, samples))
	}
	slices.SortFunc(w.series, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return w
}

// Querier, and below it Select, are what the engine asks for; the world has no need of
// the rest of either.
func (w *world) Querier(int64, int64) (storage.Querier, error) {
	return &storage.MockQuerier{SelectMockFunction: func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var found []storage.Series
		for _, each := range w.series {
			if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(each.Labels().Get(m.Name)) }) {
				found = append(found, each)
			}
		}
		return &seriesSet{of: found, at: -1}
	}}, nil
}

type seriesSet struct {
	of []storage.Series
	at int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.of) }
func (s *seriesSet) At() storage.Series                { return s.of[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

func (w *world) query(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := w.engine.NewInstantQuery(ctx, w, nil, expr, at)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	defer q.Close()
	vector, err := q.Exec(ctx).Vector()
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	return slices.Clone(vector), nil // the query takes its own back
}

// An alarm is an alert that fires, for one set of labels.
type alarm struct {
	labels labels.Labels
	texts  map[string]string
}

// firing are the alarms of a rule at a time, when it has been asked each interval from 0
// on: those whose labels were in every answer for as long as the rule's `for`.
func (w *world) firing(t *testing.T, rule rulefmt.Rule, interval, until time.Duration) (alarms []alarm) {
	t.Helper()
	active := map[uint64]time.Duration{} // since when
	for now := time.Duration(0); now <= until; now += interval {
		vector, err := w.query(t.Context(), rule.Expr, time.UnixMilli(now.Milliseconds()))
		if err != nil {
			t.Fatalf("%s: %v", rule.Alert, err)
		}
		still := map[uint64]time.Duration{}
		alarms = nil
		for _, sample := range vector {
			a := raise(t, rule, sample)
			id := a.labels.Hash()
			if _, twice := still[id]; twice {
				t.Fatalf("%s: two alerts have the labels %s", rule.Alert, a.labels)
			}
			since, was := active[id]
			if !was {
				since = now
			}
			still[id] = since
			if now-since >= time.Duration(rule.For) {
				alarms = append(alarms, a)
			}
		}
		active = still
	}
	return alarms
}

// raise is the alert that a sample of the answer becomes.
func raise(t *testing.T, rule rulefmt.Rule, sample promql.Sample) alarm {
	t.Helper()
	if math.IsNaN(sample.F) {
		t.Errorf("%s: a comparison with NaN is true", rule.Alert)
	}
	name := labels.NewBuilder(sample.Metric).Del(model.MetricNameLabel).Set(model.AlertNameLabel, rule.Alert)
	for k, v := range rule.Labels {
		name.Set(k, v)
	}
	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	texts := map[string]string{}
	for k, text := range rule.Annotations {
		expanded, err := template.NewTemplateExpander(t.Context(), "{{$labels := .Labels}}{{$value := .Value}}"+text, rule.Alert, data, 0, nil, &url.URL{}, nil).Expand()
		if err != nil {
			t.Errorf("%s: %s: %v", rule.Alert, k, err)
		}
		texts[k] = expanded
	}
	return alarm{name.Labels(), texts}
}

func promQL() parser.Parser { return parser.NewParser(parser.Options{}) }
