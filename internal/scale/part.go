package main

import (
	"context"
	"fmt"
	"strconv"
)

// numbers are what a part has measured, by the id of the row.
type numbers map[string]float64

// A part is a column of the table.
type part struct {
	name  string // what -only goes by
	title string
	// measure waits until every run of the part has succeeded.
	measure func(context.Context, stage) (numbers, error)
}

// stage is what a part is measured on.
type stage struct {
	*cluster
	options

	progress *progress
}

const (
	pipelineTasks = 50
	// namespaces are what the runs of a part are spread over.
	namespaces = 20
)

// parts are all that there are, in their order: those with runs that have ended come
// last, since theirs stay.
func parts(runs int) []part {
	or := func(usual int) int {
		if runs > 0 {
			return runs
		}
		return usual
	}
	few, many, pipelines, completed := or(1000), or(10_000), max(1, or(5000)/pipelineTasks), or(50_000)
	return []part{
		{"taskruns-few", thousands(few) + " TaskRuns", func(ctx context.Context, s stage) (numbers, error) {
			return load(ctx, s, workload{name: "few", runs: few, taskRuns: few})
		}},
		{"taskruns-many", thousands(many) + " TaskRuns", func(ctx context.Context, s stage) (numbers, error) {
			return load(ctx, s, workload{name: "many", runs: many, taskRuns: many})
		}},
		{"pipelineruns", fmt.Sprintf("%s PipelineRuns of %d", thousands(pipelines), pipelineTasks), func(ctx context.Context, s stage) (numbers, error) {
			return load(ctx, s, workload{name: "pipelines", runs: pipelines, taskRuns: pipelines * pipelineTasks, pipelines: true})
		}},
		{"completed", thousands(completed) + " completed", func(ctx context.Context, s stage) (numbers, error) {
			return amongCompleted(ctx, s, completed)
		}},
	}
}

func names(all []part) (names []string) {
	for _, p := range all {
		names = append(names, p.name)
	}
	return names
}

// thousands is a number as people write it: 10,000.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
