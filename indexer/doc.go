// Package indexer is the local copy of one resource of the cluster: its objects
// by key, indices over them, and what changes in it.
//
//	            ┌───────────────────────── indexer ─────────────────────────┐
//	fifo ──Pop──│▶ Apply ──▶ keys ──▶ cells: │ plain  │ packed │            │
//	            │    │                  ▲    └───┬────┴────▲───┘            │
//	            │    │                  │        └─ Packer ┘ nobody reads   │◀── once a minute
//	            │    │               indices      ◀─ look ── read twice     │
//	            │    └─Changes──▶ handlers, one after the other             │──▶ keys into a queue
//	            │                                                           │
//	            │  Reader[T]: Get, List    Index: Keys, Objects             │◀── reconcilers
//	            │  WaitFor(resourceVersion)                                 │
//	            └───────────────────────────────────────────────────────────┘
//
// Objects are kept as the bytes that the server sent, and decoded for whoever
// reads one. So a reader owns what it gets and may change it, there is no deep
// copy, and what nobody reads is never decoded.
//
// Most objects of a cluster have ended, and nobody reads them for hours. An
// object that nobody has read for N minutes, and that nobody is at work for, is
// packed (see wire.Packed) into less than a tenth of what a decoded one takes; read twice
// within N minutes it is plain again. What the first list brings does not wait for
// that: a large one is packed while it comes. That is what a Packer is for. Without
// one, nothing is ever packed.
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
//     moment, however long they are. (TestObjectsAreInTheOrderOfTheirKeys,
//     TestAListIsOfOneMoment, TestANamespaceIsListedAlone)
//  7. An index value that nobody has any more costs nothing, and memory comes
//     back after a mass deletion. (TestAValueThatNobodyHasCostsNothing,
//     TestMemoryComesBackAfterAMassDeletion,
//     TestAnIndexGivesBackWhatItsValuesTook)
//  8. Once WaitFor has returned, everything up to that resourceVersion can be
//     read. It returns at once if it can, and else when the store has it, or
//     with the cause of its context. News wakes nobody whose turn it is not.
//     (TestWaitForIsWokenWhenTheStoreHasIt, TestWhoGivesUpWaitingIsForgotten)
//  9. An object that does not fit the type of a reader is an error for that
//     object alone. (TestAnObjectThatDoesNotFitIsItsOwnErrorOnly)
//  10. Stats are exact, and cost the same whatever the size of the store.
//     (TestStatsFollowWhatIsHeld)
//  11. Packed or plain, an object is the same to readers, handlers, indices and
//     the FIFO; only the time that a read takes tells them apart. A relist
//     unpacks nothing that has not changed. (TestNobodySeesThatAnObjectIsPacked,
//     TestWhatNobodyReadsIsPackedAndWhatIsReadTwiceIsPlainAgain,
//     TestWhatSomebodyIsAtWorkForStaysPlain,
//     TestWhatTheFirstListBroughtIsPackedInTheFirstSweep,
//     TestALargeFirstListIsPackedWhileItComes,
//     TestADictionaryThatHasAgedIsReplaced,
//     TestADictionaryStaysWhileAnotherWouldBeNoBetter)
//  12. A panic of an index function costs that index that object, until there is
//     a new state of it; nothing else. It is counted, listed, and the first of
//     an index is logged. (TestAPanicOfAnIndexFunctionIsolatesItsKey,
//     TestAnIndexFunctionThatBreaksLeavesNothingStale, TestRunLogsWhatFailsOnce)
//  13. A new state of an object with the same index values allocates nothing.
//     (TestANewStateWithTheSameValuesAllocatesNothing)
//  14. The writer does not wait for readers who list. (TestAListHoldsNoLock,
//     BenchmarkApplyBesideReaders)
//
// It does not promise to be up to date: it is a copy, some milliseconds behind,
// or minutes if the connection is down. An index finds objects by what they
// have in the store, which is not a query to the server. A resync shows again
// what the store holds; an event that was missed stays missed.
//
// # What goes wrong
//
// A handler that panics takes Run with it, since nothing would tell the handlers
// behind it of that change; an index function does not, since its index is not
// news. A packed object whose memory is damaged panics for who reads it, as a
// pointer that leads nowhere would. A server whose resourceVersions go back
// takes the store with it; who waits gets a *RewoundError.
//
// A list of packed objects unpacks each of them, at some thirty microseconds,
// and twice within N minutes makes all of them plain. A resync unpacks each of
// them, too, and leaves it packed. Who only wants to know what there is asks for
// keys, or an index, which unpack nothing. An index that
// is added late locks the store until it has seen every object.
//
// # Goroutines and locks
//
// None is started here. Indexer.Run blocks, in the goroutine of whoever calls
// it, and is the only writer of objects; Packer.Run blocks in another, and with
// the readers may change the form of one, never the object. Packer.Handle is a
// handler, the last one: while the first list comes it packs in Run's goroutine,
// and no other handler may take as long. The two take turns by the Packer's lock.
//
// One lock guards the store; it is not held while handlers run, nor while a
// reader decodes, unpacks or goes through a list, nor while the packer
// compresses. So handlers may read the store, and there are no buffers between
// it and them: a handler that waits stops the stage, the FIFO behind it merges
// what comes meanwhile, and nothing grows without bound.
//
// # How it is kept
//
// An object is in a cell, and a cell has a number. A table of numbers finds the
// cell of a key, without a copy of the key; a sorted set of numbers is all
// objects, and a namespace is a part of it; each value of an index leads to one
// number or to a sorted set. With a namespace, an owner and a label that is some
// hundred bytes for each object (BenchmarkOverhead).
//
// A reader who lists takes a moment: he counts it, and copies two slices. From
// then on the writer copies what he is about to write, a cell's chunk of 128 or a
// set's run of at most 256, and so leaves that moment alone. While nobody lists,
// nothing is copied.
//
// # How client-go does it
//
// Its shared informer decodes every object, and gives all readers one pointer
// to it: whoever forgets a deep copy changes the cache, and once broke indices
// that way too. Each of its handlers has two goroutines and a buffer without
// bound. An index is found by its name at run time, and its order is random; an
// index function that panics or fails takes the process with it, when the store
// has the object already. A list is copied under a lock that readers share, so
// many of them hold up the writer. An object costs 155 bytes in its store with an
// index by namespace alone, and tables keep the size of their best day.
package indexer
