// Package planted has faults of the program to plant in it, and sees to it that
// the simulation finds each: an invariant that catches nothing proves nothing.
//
//	faults ──old text, new text──▶ overlay ──go test -c -overlay──▶ one binary with all of them
//	   │                                                                     │ PLANTED_FAULT=name
//	   └──plan, invariant──────────────▶ compare ◀──violations── a child that plays the plan
//
// The program itself knows nothing of this. What is built is a copy in which each
// fault is asleep until a variable of the environment names it, so all of them
// cost one build.
//
//  1. Each fault is caught in one of its plans, by the invariant that it names
//     (TestEachPlantedFaultIsCaught); testdata/caught.golden is the list.
//  2. The same plans, played by the same binary with no fault awake, break nothing
//     (TestEachPlantedFaultIsCaught).
//  3. A fault whose old text is not in its file exactly once is no fault but an
//     error, so none is lost when the program changes (TestEveryFaultHasItsPlace).
//
// To add one, add it to faults; then run its test with -update. A fault that is
// not caught is a hole: in the invariants, or in what the workloads do.
package planted
