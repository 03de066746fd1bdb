// Package pipelinerun executes PipelineRuns: it makes a run for each task of a
// pipeline when its turn has come, and tells in the PipelineRun's status what
// becomes of them.
//
//	caches ──PipelineRun, Pipeline, Task──▶ observe ──▶ plan ──▶ act ──▶ API server
//	   │                                      ▲         pure      │        create TaskRun, CustomRun, PipelineRun and claim,
//	   └──children, as summaries──────────────┤          ▲        │        patch status, cancel a child
//	                                          │          │        └──resource versions──▶ reconcile.Gate
//	      Tasks, results, missing children ◀──┴──find────┘
//
// It is built as its neighbour taskrun is: observe collects what is known, plan
// decides what to do about it, act does it. All of the deciding is in plan, which is
// a function: of the observation, the time and the configuration. The stories in
// testdata/plans are its specification: each is a pipeline, what happened to its
// tasks, and what was done about it. What TaskRuns do with the runs that are made here
// is no concern of this package, and the other way round: the API server is between.
//
// # What it promises
//
//  1. One run for a task, or for a combination of its matrix. Its name follows from
//     the PipelineRun and the task, so the API server refuses a second one; what is
//     there already is taken for the child if its controller has the PipelineRun's
//     UID, and for no other reason. (TestAnyCallMayFailAndNoTaskRunsTwice,
//     TestAStaleCacheMakesNoSecondChild, TestAStrangersTaskRunIsNotAdopted) None is made
//     for a run that the cache alone shows as going on: that is written, or asked for,
//     first. (TestNoTaskBeginsOnTheWordOfAnOldCache, TestAGarbledAnswerConfirmsNothing)
//
//  2. What is run is written down before it is run: status.pipelineSpec is stored
//     before the first child is made. A Pipeline that is edited or deleted in mid-run
//     changes nothing.
//
//  3. No task begins before those that it depends on have ended, none twice, and the
//     run ends as a simple interpreter of the same graph says, whatever is lost,
//     refused or killed on the way. (TestRandomGraphsEndAsTheInterpreterSays)
//
//  4. A child that is gone is not run again. Its task has failed, and the run says
//     whose child was deleted.
//
//  5. A run that has ended is not written again, and neither it nor its children are
//     even decoded. It ends when its TaskRuns have: a cancelled run is not called
//     cancelled while a task of it still runs. Only one that cannot go on (see 8) ends at
//     once, and asks what still runs to stop. Before either the server is asked for
//     children that no cache shows. (TestWhatIsSettledIsNotDecoded,
//     TestARunThatIsCutShortAsksForItsChildren, TestARunThatCannotGoOnStopsWhatNoCacheShows)
//     One that the server makes later, for a process that has died, is asked to stop when a
//     cache shows it. (TestAChildThatComesAfterTheEndIsAskedToStop)
//
//  6. Children are looked at, not read: of each, a handful of words that the scan of
//     the wire has taken out. Only those are decoded whose results are needed, and a
//     PipelineRun is woken when a child ends, and not by what it does until then.
//     (TestASummaryIsWhatDecodingTells, TestNewsOfAChildIsItsEnd)
//
//  7. A run of one task costs five writes and no read: the label, the start, the
//     child, that it runs, and the end. Each further child costs its creation, and at
//     most two writes of the status; what ends at once is told at once.
//     (TestCallsOfARunOfOneTask)
//
//  8. A run fails for what its author can change, and says what: a graph that has a
//     cycle, a parameter that is missing, a pipeline too large to be stored. What time
//     or an administrator may change (a quota, a webhook that is away) is waited for,
//     with the reason in the condition. (TestRefusalsOfChildren,
//     TestARunTooLargeForTheServerFailsClearly, TestAnUnreadableRunIsToldSo)
//
//  9. A pipeline within a pipeline is a run of its own, and ends with the one around it.
//     Pipelines are not within themselves for ever: that ends with a reason.
//     (TestAPipelineWithinAPipeline, TestCancelReachesThePipelinesWithin,
//     TestAPipelineWithinItselfEnds)
//
// Reasons, messages, labels and names are Tekton's, since scripts, dashboards and tkn
// depend on them; where this package differs, the comment at the place says why.
//
// # What it does not promise
//
// That a status shows each state of each child: what happens between two looks is
// told as one change. That a child of a pipeline runs to its end once the PipelineRun
// is deleted: the garbage collector takes both.
//
// # Goroutines
//
// None. Reconcile runs on the worker that calls it and returns when it is done; it
// waits for the API server, and for nothing else.
package pipelinerun
