// Scale measures Millrace on a real API server, with many runs whose pods end at
// once.
//
//	scale ──create runs──▶ kube-apiserver ◀──list, watch, write── millrace   a process of its own,
//	  │                       ▲       ▲                              │       with its default flags
//	  │                 kube-scheduler└── kwok: pods run, and have   │
//	  │                                   succeeded, at once         │
//	  ├──/metrics: runs, requests, queues ◀──────────────────────────┤
//	  └──/proc/PID: CPU time, memory      ◀──────────────────────────┘
//
// A node of kwok's says of each pod that it runs, then that it has succeeded, with
// what our entrypoint would have left in the termination message of each step: so the
// controller, the API server and the scheduler do all that they do for a real run, and
// no container costs anything.
//
// It measures four parts, one after the other, each with a process of Millrace that was
// started for it: TaskRuns few and many, PipelineRuns, and a cluster full of runs that
// have ended long ago. Those are written through the API, objects and then their
// statuses, as copies of a run that a real node has run (testdata).
//
// What it promises:
//
//  1. A part is measured once each of its runs has succeeded: at its end all are
//     listed and counted, and one that is missing or has failed is an error.
//     (TestEveryRunIsAskedForHowItEnded)
//  2. A copy of the real run says the same everywhere: the pod belongs to its run, and
//     both to the place that they were made for; no two are the same.
//     (TestACopyAgreesWithItself, TestNoTwoCopiesAreTheSame)
//  3. A pod of kwok's is what a run waits for: its results come back.
//     (TestKwokSaysWhatTheEntrypointWould)
//  4. The table in docs/performance.md is that of results.json; without results there is
//     none.
//     (TestThePageHasTheTableOfTheResults)
//
// Goroutines: creating and seeding have some each, all of which have ended when their
// function returns; so has the process of a part when the part has.
package main
