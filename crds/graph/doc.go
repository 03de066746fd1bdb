// Package graph takes a pipeline apart: which task refers to what, which must be over
// before another begins, and in what order that is possible at all.
//
//	crds.PipelineSpec ──Draw──▶ Graph: nodes, their references, their needs, an order
//	                     │
//	                     └────▶ Faults: what is missing, what waits for itself; each with its field
//
//	crds/validation, which refuses ──▶ graph ◀── reconcile/pipelinerun, which runs
//
// What it promises:
//
//  1. A task of the graph needs those that it names in runAfter and those whose results
//     (or matrix, or artifacts) it refers to, wherever the reference stands; how a task
//     ended is no need (TestNeeds).
//  2. Order has each task of the graph once, after all that it needs, else in the order
//     of the file; tasks of finally are in no order and need nobody, for they begin
//     when the graph is over (TestOrderIsTopological).
//  3. Without Faults the Graph can be run; with them its order lacks the tasks that
//     cannot be ordered (TestFaults).
//  4. Time grows with the tasks, their texts and their needs, and no faster
//     (BenchmarkDraw at 50, 500 and 5000 tasks).
//  5. The same pipeline gives the same Graph and the same Faults in the same order
//     (TestDrawIsDeterministic).
//
// A Graph follows from the pipeline alone and is not changed once it is drawn: any
// number of goroutines may read it. No I/O, no clock, no goroutine.
package graph
