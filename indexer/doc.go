// Package indexer is the local copy of one resource of the cluster: its objects
// by key, indices over them, and what changes in it.
//
//	            ┌──────────────────── indexer ────────────────────┐
//	fifo ──Pop──│▶ Apply ──▶ objects by key ──▶ indices           │
//	            │    │                                            │
//	            │    └─Changes──▶ handlers, one after the other   │──▶ keys into a queue
//	            │                                                 │
//	            │  Reader[T]: Get, List   Index: Keys, Objects    │◀── reconcilers
//	            │  WaitFor(resourceVersion)                       │
//	            └─────────────────────────────────────────────────┘
//
// Objects are kept as the bytes that the server sent, and decoded for whoever
// reads one. So a reader owns what it gets and may change it, there is no deep
// copy, and what nobody reads is never decoded.
//
// # What it promises
//
//  1. Apply is a fold: the same entries make the same store and the same
//     changes. (TestApplyTellsWhatChanged)
//  2. The changes alone tell everything: whoever follows them holds what the
//     store holds. Created follows nothing or Deleted, Updated carries what was
//     there before, another UID is Deleted and then Created.
//     (TestStoreIndicesAndChangesAgreeWhateverHappens)
//  3. Objects and indices change together: no reader sees one without the
//     other, or an entry by half. (TestReadersMayLookWhileTheWriterWrites)
//  4. Handlers see a change after the store holds it, in order, one at a time.
//     Where an entry makes several changes (Deleted and Created, say) the store
//     holds the last of them when they are told of the first.
//     (TestHandlersAreCalledInOrderAfterTheStoreHoldsTheChange)
//  5. Synced means that the handlers have seen the whole first list: its keys
//     are in the queues. (TestSyncedMeansThatHandlersHaveSeenAllInitialObjects)
//  6. Lists, and what an index finds, are in the order of keys, as of one
//     moment. (TestObjectsAreInTheOrderOfTheirKeys)
//  7. An index value that nobody has any more costs nothing.
//     (TestAValueThatNobodyHasCostsNothing)
//  8. Once WaitFor has returned, everything up to that resourceVersion can be
//     read. It returns at once if it can, and else when the store has it, or
//     with the cause of its context. (TestWaitForIsWokenWhenTheStoreHasIt)
//  9. An object that does not fit the type of a reader is an error for that
//     object alone. (TestAnObjectThatDoesNotFitIsItsOwnErrorOnly)
//  10. Stats are exact, and cost the same whatever the size of the store.
//     (TestStatsFollowWhatIsHeld)
//
// It does not promise to be up to date: it is a copy, some milliseconds behind,
// or minutes if the connection is down. An index finds objects by what they
// have in the store, which is not a query to the server. A resync shows again
// what the store holds; an event that was missed stays missed.
//
// # Goroutines and locks
//
// None is started here. Run blocks, in the goroutine of whoever calls it, and
// is the only writer. One lock guards the store; it is not held while handlers
// run, nor while a reader decodes. So handlers may read the store, and there
// are no buffers between it and them: a handler that waits stops the stage, the
// FIFO behind it merges what comes meanwhile, and nothing grows without bound.
//
// # How client-go does it
//
// Its shared informer decodes every object, and gives all readers one pointer
// to it: whoever forgets a deep copy changes the cache, and once broke indices
// that way too. Each of its handlers has two goroutines and a buffer without
// bound. An index is found by its name at run time, and its order is random.
package indexer
