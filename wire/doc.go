// Package wire turns what an API server sends into objects, without decoding
// them: bytes, and the few facts about them that routing needs.
//
//	              ┌───────────────────── wire ─────────────────────┐
//	API server    │                                                │
//	 list page ──▶│ Scanner.List    ─┐                             │
//	              │                  ├─ one pass ─▶ *Object ─▶ Cut │──▶ transform, fifo, indexer
//	 watch     ──▶│ Scanner.Events  ─┘                │            │
//	              │                               Decode[T]        │──▶ a reconciler, when it asks
//	              └────────────────────────────────────────────────┘
//
// The usual client decodes every object of every event into a Go struct, and
// keeps the struct. Most of them nobody ever reads: the next event replaces
// them, or the cache holds them until the end. So here an event costs one pass
// over its bytes, and decoding is left to whoever reads the object, if anybody
// does. Ten events for a key that no worker has reached yet cost one decode.
//
// That pass takes out name, namespace, UID, resourceVersion, generation,
// deletionTimestamp, labels and owners: enough to store an object, index it,
// and say whose business it is. An Object is these facts and the bytes.
//
// # What it promises
//
//  1. For any input the scan and the ordinary decoder into
//     metav1.PartialObjectMetadata either both fail, or agree on every fact. The
//     one exception is ErrMapEntry.
//     (FuzzScan, TestScanSeesWhatTheOrdinaryDecoderSeesInRandomObjects,
//     FuzzScanProtobuf, TestScanSeesWhatTheOrdinaryDecoderSeesInRandomMessages)
//  2. An Object never changes and holds nothing of the buffer that it was read
//     from; what equal objects have in common they share.
//     (TestAnObjectKeepsNothingOfTheBufferItWasReadFrom,
//     TestObjectsOfOneScannerShareTheirStrings)
//  3. Cut takes out what was named, and leaves the rest as the server spelled
//     it. Twice is the same as once. (FuzzCut,
//     TestCutTakesAFieldAndItsCommaAndNothingElse,
//     TestWhatIsCutOutOfProtobufIsMissingWhenDecoded)
//  4. What Decode returns belongs to the caller.
//     (TestWhatIsDecodedDoesNotPointIntoTheObject)
//  5. Changed tells content from spelling, without a decode. In doubt it says
//     that there is a change. (FuzzChanged,
//     TestChangedInLockstepAgreesWithTakingApart,
//     TestChangedInProtobufAgreesWithDecoding)
//  6. An event is told when its last byte is there, an item before the rest of
//     its list has arrived: nothing is held but the object in hand.
//     (TestAnEventIsToldWhenItsLastByteIsThere,
//     TestItemsAreHandedOverBeforeTheListHasArrived,
//     TestProtobufItemsAreHandedOverBeforeTheListHasArrived)
//  7. One bad object is one *ScanError, with as much of its key as could be
//     read. It spoils neither a list nor a stream, and it is never passed over
//     in silence. (TestABadItemDoesNotSpoilTheList,
//     TestABadObjectIsToldAndTheStreamGoesOn,
//     TestABadProtobufFrameIsToldAndTheStreamGoesOn)
//  8. Hostile input costs memory in proportion to its length, at most MaxFrame,
//     and no deep stack. It never panics. (FuzzEvents, FuzzList,
//     FuzzProtobufEvents, FuzzProtobufList,
//     TestNestingBeyondTheBoundIsRefused,
//     TestALongFrameIsReadAndATooLongOneIsNot, TestAHugeLengthCostsNothing)
//  9. A resourceVersion is compared as KEP-5504 says, and never read as an
//     int64. (TestResourceVersionsCompareAsNumbersOfAnyLength)
//  10. What is known of an object, and what it decodes to, does not depend on
//     the format in which it came, nor on whether it came in a list or in a
//     watch. (TestAPodIsTheSameInBothFormats,
//     TestAProtobufObjectIsTheSameFromAListAndFromAWatch)
//
// It does not promise that bytes are what a type expects: an object that scans
// may still not decode. Nor does it say that a Cut is harmless: whoever reads a
// field that was cut reads nothing, and is not warned. See package transform.
//
// # Goroutines
//
// None is started here. An Object may be shared by any number of goroutines, a
// Scanner too; an EventReader belongs to one.
//
// # Formats
//
// JSON is what every resource has. Protobuf is what the built-in kinds have too,
// and there a scan need not look at what it passes over: a spec is one length.
// Fields have numbers in it, not names; see Cut for what can be named. What
// stands around an object differs from door to door:
//
//	alone    k8s\0 Unknown{TypeMeta, Raw: the object}
//	watch    length  WatchEvent{type, object: k8s\0 Unknown{…}}   and the next
//	list     k8s\0 Unknown{TypeMeta: PodList, Raw: {ListMeta, item, item, …}}
//
// An item is bare: that it is a Pod follows from the PodList. Every Object is
// kept as one that came alone, so nobody behind this package sees a difference.
package wire
