//go:build !race

package main

// How many simulations are played where the environment does not say: storms, storms
// that are played three times, and systematic plans of each kind for each workload.
const fewStorms, fewReplayed, fewPlans = 4, 10, 3

// Whether a namespace is flooded with runs.
const floods = true
