//go:build !race

package main

// How many simulations are played where the environment does not say: storms, storms
// that are played again and how often they are, and systematic plans of each kind for
// each workload.
const fewStorms, fewReplayed, fewReplays, fewPlans = 4, 10, 3, 3

// How many of sharding's turmoils at the most: all.
const fewTurmoils = 25

// Whether a namespace is flooded with runs.
const floods = true
