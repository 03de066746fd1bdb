// Package simulation runs the whole program among a model API server, model
// kubelets and users, in virtual time, and has everything go wrong that can.
//
//	users ───────┐                     ┌──────────────▶ Exchange ─▶ invariants, timeline, hash
//	kubelets ────┼──▶ agenda ──▶ apiserver ◀─ Link ◀─ run of package main (client-go's REST client)
//	disruptions ─┤                     ▲                 one process, or two
//	collector ───┘                     │
//	plan ──seed──▶ ledger ──▶ interference: how long each request takes, and what befalls it
//
// A Plan is a seed, what users do, and what goes wrong: by chance in a storm, or
// at one point in a systematic plan. Play plays it in a bubble of testing/synctest
// and returns what was broken. Shrink makes a failing plan smaller, Result.Tell tells
// of it. Tests at the module's root call them, since the program is there:
//
//	make sim SEED=7           one seed, with its timeline
//	make sim SEEDS=500        many, in child processes
//	PLAN='…' make sim         the plan that a failure printed
//	make sim-plans            every systematic plan
//	make sim-replay           seeds that are played again and again, to the same hash
//
// # What it promises
//
//  1. The same plan, played with the same program, is the same to the nanosecond:
//     the same requests in the same order, the same faults.
//  2. A fault that is left out (Plan.Only) changes no draw of another one.
//  3. A storm is 50 minutes; then nothing goes wrong, and every run has two minutes
//     beside its own work; then come ten minutes in which nothing may be written.
//  4. The text of a plan is the plan (TestAPlansTextIsThePlan). Shrink leaves what is
//     needed for the breach, and nothing else if it has the time
//     (TestShrinkLeavesWhatMattersAlone).
//  5. What it came to is a page that stands alone (TestAPageStandsAlone).
//  6. A process that is killed sends nothing more, and is told nothing more, from
//     the moment of its death, though its goroutines take some time to go.
//
// # How to add
//
//   - A fault of requests or events: a line in faults.go.
//   - A fault that lasts: a line in disruption.go.
//   - A thing that happens to pods: a line in kubelet/mishap.go.
//   - A kind of run: a function in recipe.go, named in recipes.
//   - A workload: an entry of Workloads, in workload.go.
//   - An actor: a goroutine-free thing that puts what it does on World.Agenda, as
//     the garbage collector in world.go does, and acts through Server.Actor.
//   - An invariant: a function that returns a Check, in Invariants; and a planted
//     violation in invariant_test.go, which fails if one is missing.
//   - A fault of the program that an invariant must catch: an entry in planted/faults.go,
//     which make sim-planted plays; planted/testdata/caught.golden is the list of them.
//   - A resource that the program has come to use: a line in apiserver/resources.go.
//     Until then every plan fails, and says so.
//
// Whatever is added must draw its times from the seed, with words that nothing
// else draws with, and must not depend on the order of a map: of two things that
// are due at one instant the scheduler picks one.
//
// # What cannot be simulated
//
// A process that the kernel stops or kills for its memory, a clock that jumps, a
// full disk, a standard error that nobody reads: those are for real processes.
package simulation
