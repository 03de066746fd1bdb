//go:build race

package main

// Under the race detector all takes ten times as long: one plan of each workload,
// of another kind each day.
const fewStorms, fewReplayed, fewPlans = 1, 1, 0

// A flood of ten thousand runs would take minutes: make sim-few plays it.
const floods = false
