package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A sample is one line of metrics.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

type samples []sample

// parseMetrics reads the text format of Prometheus, 0.0.4, as client_golang writes it:
// without timestamps.
func parseMetrics(text []byte) (all samples, err error) {
	for line := range bytes.Lines(text) {
		line := strings.TrimSpace(string(line))
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := parseSample(line)
		if err != nil {
			return nil, fmt.Errorf("metrics, line %q: %w", line, err)
		}
		all = append(all, s)
	}
	return all, nil
}

func parseSample(line string) (s sample, err error) {
	i := strings.IndexAny(line, "{ ")
	if i < 0 {
		return s, errors.New("no value")
	}
	s.name = line[:i]
	rest := line[i:]
	if rest[0] == '{' {
		if s.labels, rest, err = parseLabels(rest[1:]); err != nil {
			return s, err
		}
	}
	s.value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64)
	return s, err
}

// parseLabels reads up to the brace, and returns what is behind it. Values are quoted
// as in Go, as far as the format goes.
func parseLabels(text string) (labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	for {
		text = strings.TrimPrefix(text, ",")
		if rest, is := strings.CutPrefix(text, "}"); is {
			return labels, rest, nil
		}
		name, after, found := strings.Cut(text, "=")
		quoted, err := strconv.QuotedPrefix(after)
		if !found || err != nil {
			return nil, "", fmt.Errorf("labels at %q", text)
		}
		if labels[name], err = strconv.Unquote(quoted); err != nil {
			return nil, "", err
		}
		text = after[len(quoted):]
	}
}

// has tells whether the sample has these labels, name and value in turn.
func (s sample) has(labels ...string) bool {
	for i := 0; i+1 < len(labels); i += 2 {
		if s.labels[labels[i]] != labels[i+1] {
			return false
		}
	}
	return true
}

// sum is that of all samples with that name and these labels.
func (all samples) sum(name string, labels ...string) (sum float64) {
	for _, s := range all {
		if s.name == name && s.has(labels...) {
			sum += s.value
		}
	}
	return sum
}

// by is the sums by the values of one label.
func (all samples) by(name, label string) map[string]float64 {
	sums := map[string]float64{}
	for _, s := range all {
		if s.name == name {
			sums[s.labels[label]] += s.value
		}
	}
	return sums
}

// within is the least bound of a histogram below which that part of its observations
// lie: how much less they are, it does not know. It is NaN if there are none.
func (all samples) within(part float64, name string, labels ...string) float64 {
	type bucket struct{ bound, count float64 }
	var buckets []bucket
	for _, s := range all {
		if s.name != name+"_bucket" || !s.has(labels...) {
			continue
		}
		if bound, err := strconv.ParseFloat(s.labels["le"], 64); err == nil {
			buckets = append(buckets, bucket{bound, s.value})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.bound, b.bound) })
	if len(buckets) == 0 || buckets[len(buckets)-1].count == 0 {
		return math.NaN()
	}
	wanted := part * buckets[len(buckets)-1].count
	i := slices.IndexFunc(buckets, func(b bucket) bool { return b.count >= wanted })
	return buckets[i].bound
}
