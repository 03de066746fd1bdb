// Package workqueue holds the keys that need a reconcile, and decides when each
// may run.
//
// It stands between the handlers, which turn events into keys, and the workers:
//
//	           ┌──────────────────────── workqueue ───────────────────────┐
//	handler    │  waiting ───────due──▶ ready, one ring of namespaces     │
//	Add ──────▶│  backing off ───due──▶   each for news ──┐               │──Get──▶ worker
//	AddUrgent  │      ▲  ▲                     and low ───┴─▶ processing  │◀──Done──┘
//	AddLow     │      │  └─────────────────────────────────── (and dirty) │
//	           └──────┼───────────────────────────────────────────────────┘
//	                  └── AddRateLimited, AddAfter, AddTroubled: what a worker says before Done
//
// A queue carries keys and no objects. The object is read when the key runs, so
// that ten events for a key that no worker has reached yet are one run, on the
// newest object. What would be lost that way, the reason for the run, travels
// as a bounded set of causes.
//
// The worker's loop:
//
//	for {
//		key, causes, err := q.Get(ctx)
//		if err != nil {
//			return // the queue is shut down, or ctx has ended
//		}
//		if err := reconcile(ctx, key, causes); err != nil {
//			q.AddRateLimited(key, workqueue.Cause{Source: "reconcile", Event: "retry"})
//		} else {
//			q.Forget(key)
//		}
//		q.Done(key) // after the line above, which says what Done is to do
//	}
//
// # What happens to a key
//
// A key is idle, waiting, backing off, ready, processing, or processing and
// dirty. This is what it becomes (merge, in state.go, is the code of the table;
// a test compares the two). Of a key that a worker has, the second half is what
// happens at Done; "processing, then ready" is the dirty state.
//
//	a key that is …               Add                           AddUrgent               AddAfter                      AddRateLimited
//	idle                          ready                         ready                   waiting                       backing off
//	waiting                       ready                         ready                   waiting *                     backing off
//	backing off                   backing off                   ready                   backing off                   backing off *
//	ready                         ready                         ready                   ready                         ready
//	processing                    processing, then ready        processing, then ready  processing, then waiting      processing, then backing off
//	processing, then waiting      processing, then ready        processing, then ready  processing, then waiting *    processing, then backing off
//	processing, then backing off  processing, then backing off  processing, then ready  processing, then backing off  processing, then backing off *
//	processing, then ready        processing, then ready        processing, then ready  processing, then ready        processing, then backing off
//	processing, then urgent       processing, then ready        processing, then ready  processing, then ready        processing, then ready
//
//	* until the earlier of the two times
//
// Where the cell is another state than the row, the row's delay or backoff is
// superseded: it makes no run of its own, and its cause is dropped (claim 15).
// A reconcile that still wants to be called later asks again.
//
// AddLow is Add, and AddTroubled, AddRateLimitedWithin and HoldBack are AddRateLimited.
// A time that comes makes waiting and backing off ready. Get takes ready to
// processing, and Done does what the table says. Release makes the time of some
// that back off an earlier one.
//
// A delay cannot be taken back or put off from outside, and need not be: whoever
// wants that is a reconcile that has thought again, so there is a run, and a run
// begins without the delays that were asked for before it. Its own AddAfter is
// then the only one, be it earlier or later (kubernetes issue 133560, which asks
// for this). Reset is for a key whose object is another.
//
// # What it promises
//
//  1. Between a Get that returns a key and its Done, no other Get returns it.
//     (TestManyWorkersLoseNothingAndShareNothing, TestQueueAgreesWithTheModel)
//  2. After Add, AddUrgent or AddLow returns, a run of the key begins that had
//     not begun before, unless the queue is shut down first or the key is idle
//     again by Reset. (TestAddWhileProcessingRunsOnceMoreAfterDone,
//     TestManyWorkersLoseNothingAndShareNothing)
//  3. All who ask before a run begins share that run, and its causes name them:
//     everyone who asked for it now, and of the delays and backoffs the one
//     whose time came (15). (TestAllWhoAskShareOneRun)
//  4. The earliest wish wins: AddAfter and then Add is one run, and so is
//     AddAfter twice. (TestAddAfterAndAddAreOneRun, TestTheEarliestDelayWins)
//  5. A key that is backing off runs before its time for AddUrgent and Release
//     only. That holds too for what is added while the failing run is at work,
//     before or after AddRateLimited. (TestAddDoesNotEndABackoff,
//     TestAddUrgentEndsABackoff, TestAFailingKeyThatHearsOfItselfDoesNotSpin)
//  6. The default limiter's own part of a delay after n failures is in [0, 1000 s]
//     for every n, and no delay, pause or count overflows; Forget begins again
//     at 5 ms. (TestExponentialStaysBetweenNothingAndItsLimit,
//     TestAPauseWithoutEndDoesNotOverflow, TestCountsDoNotOverflow,
//     TestForgetBeginsAgainAtTheFirstDelay)
//  7. After Reset a key owes nothing: no failures, no delay, no backoff. What is
//     added after it runs without a delay, even if the run that was at work fails.
//     (TestResetIsACleanSlate, TestResetWhileProcessing)
//  8. News go before low keys; of every LowEvery keys handed out while there are
//     both, one is low. (TestNewsGoBeforeTheInitialList,
//     TestALowKeyIsServedWhileNewsNeverEnd)
//  9. Namespaces that have keys ready take turns, in each lane: a key waits for
//     at most one turn of each other namespace, and for its own namespace's
//     earlier keys. Keys of one namespace and lane run in the order in which
//     they became ready, but for claim 17. (TestNamespacesTakeTurns,
//     TestAskingAgainDoesNotCostAReadyKeyItsPlace)
//  10. ShutDown refuses new keys and drops delayed ones; what is ready or dirty
//     is handed out still. Drain returns when the last of those is Done.
//     (TestShutDownHandsOutWhatIsQueuedAndDropsWhatIsDelayed,
//     TestDrainWaitsForQueuedAndForWorkInHand)
//  11. Done of a key that no worker has changes nothing but a counter.
//     (TestDoneWithoutGetIsIgnored)
//  12. A run's causes, and the idle keys whose failures are remembered, are
//     bounded; a queue gives memory back when its keys are gone. A key that
//     backs off, and for which nobody has asked since, costs 140 bytes and its
//     strings. (TestCausesAreBounded, TestFailuresOfKeysThatVanishAreBounded,
//     TestAQueueGivesBackMemory, TestAKeyThatBacksOffCostsAHundredAndFortyBytes)
//  13. A queue has no goroutine. It has one timer, set while there are delayed
//     keys that no worker has. (TestQueuesHaveNoGoroutines,
//     TestAnIdleQueueHasNoTimer)
//  14. Add, Get and Done of a key that came by lately (of the last 4096 that were
//     idle, and while fewer than 512 are ready or at work) do not allocate, with
//     or without a delay that is superseded. (TestTheLifeOfAKnownKeyDoesNotAllocate)
//  15. The cause of a delay or a backoff is told with a run only if its time
//     came while it was still what the key was to do next. One that something
//     had superseded by then (news, an earlier delay, a failure) is not told, nor
//     one that changed nothing (a delay of a key that is ready or backs off). So
//     a reconcile that asks to be called in an hour, and hears news every
//     minute, is not told "an hour has passed" every minute. A run's causes
//     stand in the order of their times.
//     (TestADelayIsACauseOfTheRunThatItsTimeBringsAndOfNoOther,
//     TestARetryIsToldUnlessUrgentNewsCameBeforeIt)
//  16. Release ends early the backoffs that AddTroubled began, and no others. It
//     takes the keys in the order in which they failed, but passes over one
//     whose pause, as the server asked for it, is not over; and it spaces all
//     keys that are ever released at least a gap apart. A key that was released
//     and fails again waits for its own time, so that releases at most double
//     its runs, however often a server comes and goes.
//     (TestReleaseEndsBackoffsOfTheServersTrouble, TestReleasesShareOnePace,
//     TestReleaseKeepsTheServersPause, TestAReleaseInVainIsNotRepeated)
//  17. In its namespace's turn a key that somebody wants urgently goes before those
//     that nobody does, and so does the retry of its run. Of every PlainEvery keys
//     of a namespace handed out while there are both, one is of the latter. Another
//     namespace does not notice. So in a flood what is at work ends before more is
//     begun. (TestUrgentKeysGoBeforeTheirNamespacesOthers,
//     TestAPlainKeyIsServedWhileUrgentOnesNeverEnd,
//     TestTheRetryOfAnUrgentRunIsAheadToo,
//     TestUrgentKeysDoNotCostOtherNamespacesTheirTurn,
//     TestInAFloodWhatHasEndedDoesNotWaitForWhatHasNotBegun)
//
// It does not promise that a key runs at its due time when all workers are
// busy, nor any order between two namespaces' keys, nor that it survives the
// process: after a restart the initial list asks for every key again.
//
// # Goroutines and locks
//
// All methods may be called from anywhere. There is one mutex, the last in the
// chain's order (FIFO, indexer, queue): under it, only Config.Limiter,
// Config.Namespace and Config.Trace are called, and they must not call back.
// Hashes are computed, clocks read and a run's causes written out without it.
// The timer's function runs in a goroutine of the runtime's for as long as it
// takes to make the due keys ready. ShutDown stops the timer.
//
// # What client-go does otherwise
//
// There, three queues are stacked (plain, delaying, rate limiting). A goroutine waits
// for delays and wakes every ten seconds, and one that has a name has another, which
// wakes twice a second for its metrics. Add does not know of a delay, so AddAfter and
// Add are two runs (kubernetes issue 126027), and a delay cannot be taken back
// (133560); a dirty key skips its backoff; a second Done queues a key twice that was
// added meanwhile; ShutDownWithDrain returns with a dirty key still queued; the
// failures of a key that is never
// forgotten stay for ever. A key lies in up to four maps, each with its hash and
// its look-up. And it does not say why a key is there.
package workqueue
