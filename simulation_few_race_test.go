//go:build race

package main

// Under the race detector all takes ten times as long: one plan of each workload,
// of another kind each day.
const fewStorms, fewReplayed, fewReplays, fewPlans = 1, 1, 2, 0

// How many of sharding's turmoils of each kind, others each day: that no two work on the same is a
// matter of many seeds, all of which make sim-few plays, and no race is.
const fewTurmoils = 3

// A flood of ten thousand runs would take minutes: make sim-few plays it.
const floods = false
