// Package tracing tells OpenTelemetry where the time of a run went: how long its news
// waited in each stage, why it was reconciled, and what was written for it.
//
// It stands beside the chains, as metrics and inspect do, and hears what their stages
// tell through the hooks that each of them has anyway. On the way to the API server it
// hears the requests:
//
//	reflector ──▶ fifo ──▶ indexer ──▶ handler ──▶ workqueue ──▶ pool ──▶ Func ──▶ API server
//	  Source                                         Queue        Pool    Func     Transport
//	     ▼                                             ▼            ▼       ▼          ▼
//	┌─ Resource ─┐                          ┌─ Controller ───────────────────┐  ┌─ requests ─┐
//	└─────┬──────┘                          └───────────────┬────────────────┘  └─────┬──────┘
//	      └────────────────────▶ spans, sampled ◀───────────┴─────────────────────────┘
//	                                   │
//	                        sink, bounded ──Run──▶ collector: OTLP over HTTP
//
// A run is one trace. A reconcile stands in it below the way that led to it, and has a
// link to each cause that was merged into it, in whatever trace that is:
//
//	taskrun                                    from its start to its end; told when it has ended
//	├─ deltafifo taskruns                      off the wire, until the queue was told
//	│  └─ queue taskrun                        ready, until a worker took the key
//	│     └─ reconcile taskrun                 links: every deltafifo, the reconcile that asked again
//	│        ├─ POST pods                      a request, until the answer's headers
//	│        └─ PATCH taskruns/status
//	└─ deltafifo pods ─ queue taskrun ─ …      the pod's news, and what came of them
//	list taskruns                              a trace of its own; what came with it has a link to it
//
// # What it promises
//
//  1. It is off unless there is an Endpoint. Then the Tracer is nil; no hook, facet or
//     transport is added, nothing is allocated, and no goroutine runs.
//     (TestTracingThatIsOffCostsNothing)
//  2. A reconcile has a link to each event that it was for, also of those that came
//     while another reconcile of the key was at work, and to the reconcile that asked
//     for it; and to none that something else has superseded.
//     (TestAReconcileHasLinksToEveryCause, TestADelayThatWasSupersededIsNoCause,
//     TestAnAskDuringAReconcileIsForTheNext)
//  3. An event is one span, however many keys it wakes.
//     (TestAnEventThatWakesTwoKeysIsOneSpan)
//  4. All reconciles of a run are in one trace, in whatever process, and nothing is
//     written to the run for it. A span context that the run was given (Tekton's
//     annotations tekton.dev/taskrunSpanContext and tekton.dev/pipelinerunSpanContext,
//     or what Tekton has left in status.spanContext) is the parent, and says whether
//     the run is sampled. What cannot be read is none.
//     (TestARunIsOneTrace, TestAGivenSpanContextIsTheParent, FuzzGiven)
//  5. The runs that a PipelineRun makes are given its trace by that annotation, and with
//     it its sampling. (TestChildrenAreGivenTheTrace)
//  6. The API server is given the trace of each sampled request, by traceparent.
//     (TestTheServerIsGivenTheTrace)
//  7. Memory is bounded: 16384 asks of a controller and 32 of a key wait for their run,
//     4096 spans for the collector, 512 of them on their way. What is beyond is
//     dropped, and Trace is told. (TestAsksAreBounded, TestSpansAreBounded)
//  8. A collector that is slow, dead or rude holds up nobody: no hook waits for it, and
//     the end of the program waits for two seconds at most.
//     (TestADeadCollectorHoldsNobodyUp)
//
// It does not promise that a trace is whole: a run's first span is told when the run has
// ended, by the process that has written so. A reconcile of a run that is in no cache any
// more is not traced.
//
// # Goroutines
//
// It has one, which is Tracer.Run. Hooks run in the goroutines of the stages that call
// them, and take a lock for a moment. Nothing here is global: OpenTelemetry's global
// provider and propagator are not touched, and a Tracer belongs to one run of the program.
package tracing
