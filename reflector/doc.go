// Package reflector keeps a sink told about one resource of an API server: what
// there is, and what happens to it.
//
//	API server ──LIST, WATCH──▶ reflector ──Begin Item… Commit──▶ sink (the FIFO)
//	             HTTP streams     ▲ │       ──Add Update Delete──▶
//	                              │ │       ──Bookmark──────────▶
//	            one object again  │ ▼       ──Found Gone────────▶
//	                          quarantine: keys of what was not taken in
//
//	Trace, Status, Quarantine: what was asked, what went wrong, what is missing
//
// A server promises little: a list shows a state and names its
// resourceVersion; a watch from a resourceVersion shows the changes after it,
// until it ends for any reason or none. Everything else is the client's to put
// together, and the whole of it is here: when to list, when to watch on, when
// to wait, and for how long.
//
// # The machine
//
//	Probing (where a shard is wanted: does the server have shards?)
//	     │
//	     ▼        no such feature, or no end of it
//	WatchListing ──────────────────────────────────▶ Listing
//	     │ bookmark that ends the initial events        │ last page
//	     └───────────────────▶ Watching ◀───────────────┘
//	                            │  ▲ │
//	            closed, broken  └──┘ │ expired, rewound, silent, gap, stuck
//	                                 └──────▶ WatchListing or Listing
//
//	any of them ── no connection, 429, 5xx, 403 ──▶ BackingOff ──▶ where it was going
//	any of them ── 404 ──▶ Suspended ──▶ WatchListing or Listing
//	any of them ── 406 ──▶ the same again, asking for another format
//
// A state is an exchange with the server, or a pause. step does what the state
// says, and tells its outcome to a function that makes the next state of it.
// These functions (state.go) are all the policy there is; they do no I/O and
// read no clock, and a table tests them for every ending in every state.
//
// # What it promises
//
//  1. Nothing is skipped in silence. An object that could not be read, that is of
//     another kind, or that the sink refused, is told to Trace; its key is in
//     quarantine, for all to see, until it is taken in or gone; and it is asked for
//     again. An event whose key could not be read is followed by a list: after ten
//     seconds, and if that happens again and again, when the watch ends, which the
//     server is asked to do after ten minutes at most. The others go on meanwhile.
//     (TestRefusedObjectIsAskedForAgain, TestObjectOfAnotherKindIsAskedForAgain,
//     TestUnreadableEventIsAskedFor, TestUnreadableEventIsFollowedByAList,
//     TestEventsThatStayUnreadableCostFewLists,
//     TestStreamGoesOnWhileAnObjectIsAskedFor)
//  2. A list that was not complete deletes nothing: it ends in Abort. Nor does a
//     list delete an object that it showed and that could not be read: Keep.
//     (TestCutListIsAborted, TestUnreadableItemIsNotGone)
//  3. The first list of a Run is consistent: a quorum has confirmed that it is
//     the newest. Later lists are not older than what the sink knows, unless the
//     server itself has gone back: then they are consistent again.
//     (TestFirstReadIsConsistent, TestFloorOfTheNextList,
//     TestRefusedFloorAsksForTheNewest)
//  4. Nothing of a list is held: an object goes to the sink when its last byte
//     has arrived. (TestSilentListIsCut)
//  5. A watch that ends in good order, as all do every five to ten minutes, is
//     followed by another from where it was, with no list and no pause.
//     (TestCleanCloseWatchesOnFromTheLastVersion)
//  6. The server is asked at most three times in the first second of an outage,
//     or of streams that end as they begin, and then less and less: see Backoff.
//     Only health ends a backoff, not the clock, so nothing is a hot loop: not a
//     watch that closes as it begins, not a list that is expired when it ends. A
//     Retry-After is kept, up to five minutes. (TestOutage,
//     TestBackoffDoesNotStartOverInAnOutage, TestInitialEventsWithoutEndFallBack,
//     TestHastyWatchesBackOff, TestRetryAfter, TestNoEndingRepeatsWithoutAPause)
//  7. Trouble of the server (429, 5xx, no connection) costs no list. What it has
//     forgotten (410) does, and at once, if a watch was well since the last one.
//     (TestOutage, TestExpiredAsEventListsAgainAtOnce,
//     TestExpiredAsAnswerListsAgainAtOnce, TestCompactionDuringAnOutage)
//  8. A connection that says nothing for SilenceTimeout is cut, and given up.
//     Bookmarks come once a minute, so a peer that is gone is noticed within 90 s;
//     sooner by a ping of HTTP/2. (TestSilenceIsCut,
//     TestPingsFindAHalfOpenConnection,
//     TestSilenceFindsAHalfOpenConnectionWithoutPings,
//     TestShardQuestionLeavesASilentConnection)
//  9. Whatever it is doing, Run returns as soon as its context ends, and leaves
//     no goroutine, timer or request behind. (TestStopsAtOnceInEveryState; how
//     long it takes is BenchmarkStop's ms-max)
//  10. Whatever the server does, once it has come to its senses the sink comes to
//     show what the server has. (TestSinkShowsWhatTheServerHas)
//  11. What comes decides how it is read, not what was asked for. A server that
//     has no protobuf of a resource is found out once; an answer that is neither
//     JSON nor protobuf, or a Table, is an error that says so.
//     (TestJSONIsReadWhereProtobufWasAskedFor, TestNotAcceptableIsFoundOutOnce,
//     TestRubbish, TestRubbishInPlaceOfAList)
//  12. Quarantine is bounded, in keys and in requests: one at a time, one in a
//     second, none in an outage. What it brings is never older than what an event
//     has brought. (TestQuarantineIsBounded, TestRefetchesBackOff,
//     TestRefetchesKeepTheirPaceOverWatches, TestNothingIsAskedForInAnOutage,
//     TestAnswerOlderThanAnEventIsDropped, TestAnswerOlderThanARefusalIsDropped,
//     TestAnswerOfAnotherMomentIsNone)
//  13. A shard is asked for where the server has shards, else everything; which of
//     the two is known before the first list. Where the sink filters, a shard is asked
//     for unless the server rejects that.
//     (TestShardIsAskedForWhereTheServerHasIt,
//     TestWithoutShardsEverythingIsStreamed,
//     TestAShardIsAskedForWhereTheSinkFilters)
//  14. With a Pulse, the first answer after an outage ends the pauses of all.
//     (TestPulseEndsAnOutageForAll, TestPulseWakesOnceInTheLongestPause)
//
// What it does not promise: that the sink sees every state of an object (a list
// shows the last one only), that Add comes for what is new (after a cut, Update
// and Add repeat what is known: the FIFO works out what is news), or that a
// deletion is told as one (a list may just not show the object).
//
// # Goroutines
//
// Run is the one that lists, watches, waits and calls the sink. While a watch is
// on, a second one asks for what is in quarantine, and takes turns with it at the
// sink. A third keeps the resync timer and calls nothing but Sink.Resync. Run
// starts them and waits for them. Timers of requests call a context's cancel and
// nothing else. New starts nothing. (A connection that is being made when Run
// returns is the transport's, which gives up within 30 s.)
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
// There is one thing that nobody can see: a server that was restored with its old
// numbers, and has counted on beyond where we were before it heard of us again. What
// happened in between is missed until the next list. The numbers are to be raised
// when a backup is restored, as Kubernetes' documentation says (etcdutl snapshot
// restore --bump-revision --mark-compacted); then every watch begins anew.
//
// A server, or something before it, may be unable to stream a list. It says so
// (422), or closes early (issue 140890), or never sends
// the bookmark (issue 135895). All of it leads to a paged list at once, and to half an
// hour without another attempt.
//
// A half-open connection: a node, a NAT entry or a load balancer is gone, and
// nobody has said so. Over HTTP/2 the transport that client-go sets up sends a
// ping after 30 s without a frame and waits 15 s for its answer, so all requests
// of the connection fail after 45 s (HTTP2_READ_IDLE_TIMEOUT_SECONDS,
// HTTP2_PING_TIMEOUT_SECONDS; there is nothing to set in rest.Config). Where pings
// are off, and over HTTP/1.1 (DISABLE_HTTP2), silence is what is left: 90 s, and
// over HTTP/2 90 s more, for the next request still leaves by the old connection,
// and closes it behind itself.
//
// # Quarantine
//
// The question for one object is a list: of the configured selectors and its
// name, at exactly the resourceVersion that the stream has reached. A list, since
// that is a verb that a reflector is granted anyway, and since an object that has
// left the selectors must look deleted. And at that resourceVersion, since then
// the answer fits into the stream where it stands, and no two versions need ever
// be compared: if no event of the key came while it was on its way, it is true;
// if one did, that event knows better, and the answer is dropped. An answer that
// names another resourceVersion, as of a server that passes over
// resourceVersionMatch, fits nowhere and is none. A server that does not answer
// (or has forgotten that state, or selects by nothing) is asked for a list of all
// when the watch ends.
//
// # Shards
//
// KEP-5866 lets a server send one hash range of a resource. Its feature gate
// ShardedListAndWatch was alpha in 1.36 and 1.37. A server without it passes over
// the parameter, as over any that it does not know: the request succeeds and
// brings everything. Only the metadata of a list tells (shardInfo), so one is
// asked for, of one object, before all else. But lists of custom resources have none in
// 1.37, although they are selected, and so are their watches: see
// Config.ShardFiltered. A selector that the server cannot
// parse is an internal error to it (500), which shows in LastError and is asked
// again for ever: it is a mistake of ours.
//
// # How client-go does it
//
// The same facts decide there, kept in flags and loop positions of one function.
// Its backoff starts over two minutes after it last did, in the middle of an
// outage too; a stream of a list that closes early is asked for again without a pause
// and without end (issue 140890); the wait before the next one does not hear the
// context; a resourceVersion moves past an event that the store
// refused, and one object that a transform refuses fails every list; and a list
// is decoded as a whole before its first object is used.
package reflector
