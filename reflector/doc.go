// Package reflector keeps a sink told about one resource of an API server: what
// there is, and what happens to it.
//
//	API server ──LIST, WATCH──▶ reflector ──Begin Item… Commit──▶ sink (the FIFO)
//	             HTTP streams       │       ──Add Update Delete──▶
//	                                │       ──Bookmark──────────▶
//	                                └ Trace: what went wrong, what was asked
//
// A server promises little: a list shows a state and names its
// resourceVersion; a watch from a resourceVersion shows the changes after it,
// until it ends for any reason or none. Everything else is the client's to put
// together, and the whole of it is here: when to list, when to watch on, when
// to wait, and for how long.
//
// # The machine
//
//	              no such feature, or no end of it
//	WatchListing ──────────────────────────────────▶ Listing
//	     │ bookmark that ends the initial events        │ last page
//	     └───────────────────▶ Watching ◀───────────────┘
//	                            │  ▲ │
//	            closed, broken  └──┘ │ expired, rewound, silent, gap, stuck
//	                                 └──────▶ WatchListing or Listing
//
//	any of them ── no connection, 429, 5xx, 403 ──▶ BackingOff ──▶ where it was going
//	any of them ── 404 ──▶ Suspended ──▶ WatchListing or Listing
//
// A state is an exchange with the server, or a pause. step does what the state
// says, and tells its outcome to a function that makes the next state of it.
// These functions (state.go) are all the policy there is; they do no I/O and
// read no clock, and a table tests them for every ending in every state.
//
// # What it promises
//
//  1. Nothing is skipped in silence. An object that could not be read, or that
//     the sink refused, is told to Trace, and a list offers it again when the
//     watch ends, which the server is asked to do after ten minutes at most. The
//     others go on meanwhile. (TestRefusedObjectIsOfferedAgain,
//     TestUnreadableEventIsFollowedByAList)
//  2. A list that was not complete deletes nothing: it ends in Abort. Nor does a
//     list delete an object that it showed and that could not be read: Keep.
//     (TestCutListIsAborted, TestUnreadableItemIsNotGone)
//  3. The first list of a Run is consistent: a quorum has confirmed that it is
//     the newest. Later lists are not older than what the sink knows, unless the
//     server itself has gone back: then they are consistent again.
//     (TestRequests, TestFloorOfTheNextList, TestRefusedFloorAsksForTheNewest)
//  4. Nothing of a list is held: an object goes to the sink when its last byte
//     has arrived. (TestSilentListIsCut)
//  5. A watch that ends in good order, as all do every five to ten minutes, is
//     followed by another from where it was, with no list and no pause.
//     (TestCleanCloseWatchesOnFromTheLastVersion)
//  6. The server is asked at most three times in the first second of an outage,
//     or of watches that end as they begin, and then less and less: see Backoff.
//     Only health ends a backoff, so nothing is a hot loop: not a watch that closes as it begins,
//     not a list that is expired when it ends. A Retry-After is kept, up to five
//     minutes. (TestOutage, TestHastyWatchesBackOff, TestRetryAfter,
//     TestNoEndingRepeatsWithoutAPause)
//  7. Trouble of the server (429, 5xx, no connection) costs no list. What it has
//     forgotten (410) does, at once if all was well before. (TestOutage,
//     TestExpiredAsEventListsAgainAtOnce)
//  8. A connection that says nothing for SilenceTimeout is cut. Bookmarks come
//     once a minute, so a peer that is gone is noticed within 90 s.
//     (TestSilenceIsCut)
//  9. Whatever it is doing, Run returns as soon as its context ends, and leaves
//     no goroutine, timer or connection behind. (TestStopsAtOnceInEveryState)
//  10. Whatever the server does, once it has come to its senses the sink comes to
//     show what the server has. (TestSinkShowsWhatTheServerHas)
//
// What it does not promise: that the sink sees every state of an object (a list
// shows the last one only), that Add comes for what is new (after a cut, Update
// and Add repeat what is known: the FIFO works out what is news), or that a
// deletion is told as one (a list may just not show the object).
//
// # Goroutines
//
// Run is the one that lists, watches, waits and calls the sink. A second one
// keeps the resync timer and calls nothing but Sink.Resync; Run starts it and
// waits for it. Timers of requests call a context's cancel and nothing else.
// New starts nothing.
//
// # What goes wrong, and where
//
// The three 410s: on a page that continues a list, the list was too slow, and is
// made again in one piece; as the answer to a watch, and as an event of one, the
// server has forgotten where we were. If the resourceVersion of a list is
// forgotten before a watch can begin there (issue 102718 of kubernetes), the
// next list is whole and consistent, and pauses grow.
//
// "Too large resource version": this server is behind the one that we talked to
// before, or it was restored from a backup. The first of them passes; for the
// second the list asks for the newest state, whatever its number. A restored
// server may also accept a watch from its future and stay mute: see muteAfter.
//
// A server, or something before it, may be unable to stream a list. It says so
// (422), or closes early (issue 140890), or never sends
// the bookmark (issue 135895). All of it leads to a paged list at once, and to half an
// hour without another attempt.
//
// # How client-go does it
//
// The same facts decide there, kept in flags and loop positions of one function.
// Its backoff starts over two minutes after it last did, in the middle of an
// outage too; a watch-list that fails has no end of attempts; some waits do not
// hear the context; a resourceVersion moves past an event that the store
// refused; and a list is decoded as a whole before its first object is used.
package reflector
