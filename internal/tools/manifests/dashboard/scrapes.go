package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
)

// scrapes are all samples, as a storage that Prometheus' engine can ask.
type scrapes struct {
	series      map[uint64]*promql.Series // by the hash of their labels
	first, last int64                     // in milliseconds
}

// readScrapes reads a folder with a folder for each pod.
func readScrapes(folder string) (*scrapes, error) {
	pods, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	s := &scrapes{series: map[uint64]*promql.Series{}, first: math.MaxInt64}
	for _, pod := range pods {
		if err := s.readPod(filepath.Join(folder, pod.Name()), pod.Name()); err != nil {
			return nil, err
		}
	}
	if len(s.series) == 0 {
		return nil, fmt.Errorf("%s: nothing was scraped", folder)
	}
	return s, nil
}

// readPod reads the scrapes of one pod, in the order of their times.
func (s *scrapes) readPod(folder, pod string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	times := make([]int64, 0, len(files))
	for _, file := range files {
		at, err := strconv.ParseInt(strings.TrimSuffix(file.Name(), ".txt"), 10, 64)
		if err != nil {
			return fmt.Errorf("%s: the name is no time: %w", filepath.Join(folder, file.Name()), err)
		}
		times = append(times, at)
	}
	slices.Sort(times)
	before := map[uint64]bool{}
	for _, at := range times {
		name := filepath.Join(folder, fmt.Sprint(at)+".txt")
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if before, err = s.add(text, pod, at, before); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// add takes one scrape, and ends the series that were in the one before and are not in
// this one, as Prometheus does.
func (s *scrapes) add(text []byte, pod string, at int64, before map[uint64]bool) (map[uint64]bool, error) {
	s.first, s.last = min(s.first, at), max(s.last, at)
	now := map[uint64]bool{}
	parser := textparse.NewPromParser(text, labels.NewSymbolTable(), false)
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var found labels.Labels
		parser.Labels(&found)
		_, _, number := parser.Series()
		now[s.sample(ours(found, pod), at, number)] = true
	}
	for id := range before {
		if !now[id] {
			s.series[id].Floats = append(s.series[id].Floats, promql.FPoint{T: at, F: math.Float64frombits(value.StaleNaN)})
		}
	}
	return now, nil
}

// ours are the labels of a series with those that the PodMonitor adds.
func ours(found labels.Labels, pod string) labels.Labels {
	with := labels.NewBuilder(found)
	with.Set("job", "millrace").Set("namespace", "tekton-pipelines").Set("pod", pod)
	return with.Labels()
}

func (s *scrapes) sample(of labels.Labels, at int64, number float64) (id uint64) {
	id = of.Hash()
	if s.series[id] == nil {
		s.series[id] = &promql.Series{Metric: of}
	}
	s.series[id].Floats = append(s.series[id].Floats, promql.FPoint{T: at, F: number})
	return id
}

// Querier is one for any time: the engine passes over samples that are too old or young.
func (s *scrapes) Querier(int64, int64) (storage.Querier, error) { return querier{s}, nil }

type querier struct{ of *scrapes }

// Select are the series that match, in the order of their labels.
func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{}
	for _, each := range q.of.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(each.Metric.Get(m.Name)) }) {
			found.rest = append(found.rest, *each)
		}
	}
	slices.SortFunc(found.rest, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	return found
}

// No query of a panel asks for labels alone.
var errLabels = errors.New("labels alone are not asked for")

func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errLabels
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, errLabels
}

func (querier) Close() error { return nil }

// set walks over series.
type set struct {
	at   promql.Series
	rest []promql.Series
}

func (s *set) Next() bool {
	if len(s.rest) == 0 {
		return false
	}
	s.at, s.rest = s.rest[0], s.rest[1:]
	return true
}

func (s *set) At() storage.Series              { return promql.NewStorageSeries(s.at) }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
