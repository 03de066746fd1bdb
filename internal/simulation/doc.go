// Package simulation runs the whole program among a model API server, a model
// kubelet and users, in virtual time, and has everything go wrong that can.
// WORK IN PROGRESS
package simulation
