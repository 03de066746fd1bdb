// Package fifo is the DeltaFIFO: it stands between the network and the store,
// and holds what the store does not know yet, merged by object.
//
//	reflector                       fifo                            indexer
//	Add, Update, Delete ──▶ transform ──▶ ┌─────────────────┐
//	Begin Item… Commit  ──▶   (once)      │ n/a  Added      │──Pop──▶ Apply
//	Found, Gone         ──▶               │ n/b  Updated +3 │          │
//	Bookmark, Resync    ──▶               │ n/c  Deleted    │          │
//	                          ▲           └─────────────────┘          │
//	                          └───────────── Known ◀───────────────────┘
//	                              the one backward glance: key → UID, version
//
// A store that is busy must not stop the stream: a server ends watches that are
// not read. (Only the first list can wait: see Room.) So something has to hold
// what has come and was not taken in. It could hold every event; this holds one
// entry for each object, which is bounded by the number of objects however long
// the store takes.
//
// It is also where a list becomes changes. A list says what there is; what is
// new, what has changed and what is gone shows only against what was there.
// That is what Known is for.
//
// # What waits
//
// An entry is a key and at most three deltas: Deleted, then Added, then
// Updated; or one Sync. Further changes are folded in and counted:
//
//	nothing waits, u1 is known    ~u1      Updated u1
//	Updated u1                    ~u1      Updated u1, merged 1
//	Updated u1                    -u1      Deleted u1, merged 1
//	Deleted u1                    +u2      Deleted u1, Added u2
//	Deleted u1, Added u2          ~u2 ~u2  Deleted u1, Added u2, Updated u2 merged 1
//	Deleted u1, Added u2          -u2      Deleted u1, merged 2
//	nothing waits, nothing known  +u1 -u1  Deleted u1, merged 1
//
// The last line: nobody has seen u1, and its end is told all the same. Whoever
// has made u1 and waits to see it would wait for ever.
//
// # What it promises
//
//  1. Entries come out in the order in which they came in; an object that
//     changes while it waits keeps its place. What a list has shown to be gone
//     comes last, in the order of keys. (TestAnObjectKeepsItsPlaceWhenItChanges,
//     TestARelistFindsWhatIsNewWhatHasChangedAndWhatIsGone)
//  2. An object that is known as it is, by UID and resourceVersion, makes no
//     entry, and is not copied: a relist of nothing new is silent, and takes the
//     room of a table of what it has not shown yet.
//     (TestARelistOfNothingNewSaysNothing,
//     TestARelistOfNothingNewCopiesNothing)
//  3. Another UID under a name is an end and a beginning, never an update.
//     (TestAnotherUIDUnderTheNameIsAnEndAndABeginning)
//  4. A list that was not committed deletes nothing.
//     (TestAnAbortedListDeletesNothing)
//  5. An entry counts as the last known state of its object until process has
//     returned. (TestAnEntryIsVisibleUntilItIsProcessed,
//     TestADeletionInProcessIsVisibleToo)
//  6. Entry.ResourceVersion is the last one that was received before the oldest
//     entry that still waits. Whoever has taken that entry in has all that the
//     stream had said up to there; single objects may be newer.
//     (TestWhateverHappensTheConsumerEndsWithWhatTheServerHas)
//  7. Synced is closed when the first committed list has been popped and
//     processed, whatever came of it: errors, panics, deletions meanwhile.
//     (TestSyncedIsTheFirstListPoppedAndProcessed, and the five behind it)
//  8. The transform runs once for each state that is news, and never for an end
//     that nobody saw. One object that it refuses is an error for that object
//     alone; the others flow.
//     (TestTheTransformRunsOnceForEachStateThatIsNews,
//     TestAnObjectThatTheTransformRefusesIsReportedAndTheOthersFlow)
//  9. A resync reminds of what is known and has no news. It repairs nothing.
//     (TestAResyncRemindsOfWhatIsKnownAndHasNoNews)
//  10. What waits when it is closed is popped first.
//     (TestWhatWaitsWhenItIsClosedIsPoppedFirst)
//  11. An object that a list shows but that cannot be read is not deleted by
//     that list. (TestAnObjectThatAListShowsButThatCannotBeReadIsNotDeletedByIt)
//  12. An object that was asked for by its key, and one that was found missing so,
//     move no published resourceVersion.
//     (TestWhatWasAskedForByItsKeyMovesNoPublishedVersion)
//  13. What comes in may be lent (see package wire); what waits here, and what
//     comes out, is its own. (TestWhatWaitsIsNotWhatIsReadNext)
//  14. However slow the consumer is, the producer of a watch never waits for it, and
//     what waits is bounded by the number of objects. That of the first list may ask for
//     Room, and then Config.Crowd is the bound.
//     (TestTheProducerGoesOnWhileTheConsumerWorks,
//     TestWhatWaitsIsBoundedByTheObjects,
//     TestAFirstListWaitsForTheConsumerAndAWatchDoesNot)
//
// It does not promise that every state is seen: states that follow each other
// faster than the store takes them in are merged. And a published
// resourceVersion goes on past an object that could not be read or that the
// transform has refused, since one bad object must not stop read-your-own-writes
// for all; the error says so.
//
// # Goroutines and locks
//
// None is started here. The producer is one goroutine (Resync may be called by
// another), the consumer is one. The lock is not held while the transform or
// process runs. It is held while Known is asked: locks go downstream, from here
// to the indexer, and the indexer never calls back.
//
// # What goes wrong
//
// A transform that refuses an object, or panics over it: its producer is told, and
// asks for the object again (see package reflector). A consumer that fails or
// panics: the entry is done all the same, and Pop says so; what that does to its store is
// the consumer's affair. A consumer that stands still: memory for one entry of
// each object, and a published resourceVersion that does not move.
//
// # How client-go does it
//
// Its DeltaFIFO keeps every delta of an object and merges two deletions only;
// its RealFIFO, which every informer has since 1.36, keeps every event and merges
// nothing; when 2000 wait, it holds back the stream while the store is written. A
// relist there makes an update for every object of the cache, through a slice and a
// table of all of them: twice the memory, for as long as it takes (issue 73497 of
// kubernetes). A new UID is an update of the old object (issue 141255 of kubernetes).
// A transform that fails loses the event of a watch, and the whole of a list.
package fifo
