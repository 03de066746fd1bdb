// Package reconcile runs functions of a key, and holds what such functions share.
//
// It is the end of the chain, where keys become writes:
//
//	              ┌────────────────────── pool ──────────────────────┐
//	workqueue ────│─Get─▶ worker ──▶ gate: have the caches seen what │      ┌─▶ caches (read)
//	    ▲         │        … N       this key's last run wrote?      │      │
//	    │         │                   │ yes                          │      │
//	    │         │                   └──▶ Func(ctx, key) ───────────│──────┴─▶ API server (write)
//	    │         │                         │ Result, error          │             │
//	    └─────────│──── Forget, AddAfter, ◀─┘                        │             ▼
//	              │     AddRateLimited, Done                         │      gate.Wrote, gate.Doubt
//	              └──────────────────────────────────────────────────┘
//
// A Func does not handle an event. It reads what is, computes what should be, and
// writes the difference, if there is one; so it may be called too often, and must
// not mind. What it returns says when it should be called again:
//
//	the Func returns …                          the key runs again  its failures  logged  outcome
//	Result{}, nil                               with the next news  forgotten     no      success
//	Result{RequeueAfter: d}, nil                after d             forgotten     no      requeue_after
//	Result{RequeueAfter: d, Requeue: true}, nil  after d            forgotten     no      requeue_after
//	Result{RequeueAfter: -d}, nil               after the backoff   counted       no      requeue
//	Result{Requeue: true}, nil                  after the backoff   counted       no      requeue
//	anything, err                               after the backoff   counted       once    error
//	anything, Terminal(err)                     with the next news  forgotten     once    terminal_error
//
// News end every wait of this table but the backoff, and urgent news end that,
// too: see package workqueue. (A key in a hot loop waits longer than d: claim 9.) A test runs each row and looks for it here.
//
// # What it promises
//
//  1. No reconcile begins before every Source is synced. If that is not to be,
//     Run's error names the source and what it is struggling with.
//     (TestNoReconcileBeforeEverySourceIsSynced,
//     TestAWaitInVainNamesTheSourceAndItsLastError)
//  2. At most Workers reconciles run at once, and never two of one key.
//     (TestWorkersAreAsManyAsWereAskedFor)
//  3. The table above. (TestTableOfResultsInTheDocumentation)
//  4. A panic is an error of its key: logged with its stack, counted, tried
//     again after a backoff. The other keys are served.
//     (TestAPanicIsAnErrorOfThatKey)
//  5. A reconcile's ctx ends after Timeout.
//     (TestAReconcileThatHangsIsTimedOutAndTriedAgain)
//  6. After an error of the server's (ServerTrouble) a key backs off for at least
//     the server's Retry-After, of which five minutes are believed, and at most
//     TroubleCeiling, and a long outage does not count against it afterwards. After
//     a conflict, or with Requeue, it backs off for a tenth of a second, twice as long
//     each time, and five seconds at most; where the
//     program lacks a right, for a second, twice as long each time, and at most
//     TroubleCeiling.
//     (TestServerTroubleIsCappedAndItsRetryAfterObeyed,
//     TestALongStormOfConflictsIsFollowedByNoLongSleep)
//  7. When a reconcile shows that the server answers again, keys that back off for
//     6 do not sit that out: each such reconcile lets two go, ReleaseGap apart,
//     after their Retry-After. A key that fails again all the same is not let go
//     before it has sat one out: so trouble that stays, or comes and goes, costs
//     at most twice the runs, and makes no loop.
//     (TestAfterAnOutageKeysDoNotSitOutTheirBackoff, TestAReleaseObeysRetryAfter,
//     TestAKeyWhoseTroubleStaysDoesNotSpin)
//  8. No reconcile begins before the caches have what the key's last reconcile
//     wrote. If that takes longer than GateTimeout the worker goes on to other
//     keys; after the third time in a row the key is InDoubt, and runs. It is so
//     at once if the server has gone back since that write (it was restored), or
//     if a cache says that it will never know. (What a cache could not take in,
//     since it cannot be read or the transform refuses it, it does not have, and
//     does not hold up the others for: the reflector asks for it again.)
//     (TestAKeyIsNotReconciledBeforeTheCacheHasItsWrites, TestACacheThatStandsStill,
//     TestAServerThatHasGoneBackIsAskedAtOnce, TestWhatACacheWillNeverKnowIsDoubt)
//  9. A key that runs ten times in a row, and more often than once a second, for
//     nothing but its own wish or its own writes is held back: 100 ms, then twice
//     as long each time, up to half a minute. News that are urgent pass, and news
//     from anybody else end the row. One that panics three times in a row stays
//     away for a minute at the least, then twice as long each time. Alarms names
//     both. Other keys are served as if nothing were.
//     (TestAKeyThatAsksForItselfAgainAndAgainIsHeldBack,
//     TestAKeyThatHearsNothingButItsOwnWritesIsHeldBack,
//     TestBusyAndPatientKeysAreNotHeldBack,
//     TestAKeyThatPanicsAgainAndAgainIsSetApart)
//  10. When Run's ctx ends, no more keys are taken; the reconciles in hand may go
//     on for DrainTimeout, then their ctx ends; Run returns when the last has
//     returned. Keys that were ready are left: the next process lists everything.
//     (TestStopTakesNoMoreKeysAndLetsTheRunningFinish, TestAStopHasAnEnd)
//  11. An attempt that fails is one line of log, with its key and causes. One that
//     goes well is none, at verbosity under 2; what caused it is told then.
//     (TestAPoolIsQuietWhenAllIsWell, TestAFailureIsLoggedWithKeyAndCauses,
//     TestAtVerbosity2TheLogSaysWhyAKeyWasReconciled)
//  12. Each OnStart is followed by one OnReconcile of that key, with the causes
//     that Causes(ctx) gave the Func. (TestCausesReachTheReconcileAndTheTrace)
//  13. SetCondition moves lastTransitionTime with the status only, and refuses
//     what is no condition. (TestTheTransitionTimeMovesWithTheStatusOnly,
//     TestWhatIsNoConditionIsRefused)
//  14. SetControllerReference gives a child one controller, never a second.
//     (TestSetControllerReference, TestSetControllerReferenceRefuses)
//  15. Finalizers of others, and their order, are left alone. (TestFinalizers)
//
// It does not promise that a Func which ignores its ctx can be stopped, nor that
// a write is done only once: a process can die between the server's answer and
// the next line. Names that can be computed again, and preconditions on UID and
// resourceVersion, make a write safe to repeat.
//
// # Goroutines
//
// Run starts Workers goroutines and one that waits for them, and returns after
// all of them. Nothing else here starts any. Func and Trace are called by the
// workers.
//
// # What goes wrong without it
//
// A worker that is quicker than the watch reconciles again before the cache has
// the pod that it has just made, and makes another. That is what the Gate is for;
// most controllers rely on deterministic names alone, and on the API server's
// AlreadyExists. An error of the network leaves open whether a write was done:
// Doubt makes the next reconcile ask the server instead of the cache.
//
// controller-runtime takes a negative RequeueAfter for none, so that a deadline
// that passes during the reconcile is never looked at again; and its wait for the
// caches says nothing of the RBAC rule that is missing.
package reconcile
