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
//     metav1.PartialObjectMetadata either both fail, or agree on every fact.
//     (FuzzScan, TestScanSeesWhatTheOrdinaryDecoderSeesInRandomObjects)
//  2. An Object never changes and holds nothing of the buffer that it was read
//     from; what equal objects have in common they share.
//     (TestAnObjectKeepsNothingOfTheBufferItWasReadFrom,
//     TestObjectsOfOneScannerShareTheirStrings)
//  3. Cut takes out what was named, and leaves the rest as the server spelled
//     it. Twice is the same as once. (FuzzCut,
//     TestCutTakesAFieldAndItsCommaAndNothingElse)
//  4. What Decode returns belongs to the caller.
//     (TestWhatIsDecodedDoesNotPointIntoTheObject)
//  5. Changed tells content from spelling, without a decode. In doubt it says
//     that there is a change. (FuzzChanged,
//     TestChangedInLockstepAgreesWithTakingApart)
//  6. An event is told when its last byte is there, an item before the rest of
//     its list has arrived: nothing is held but the object in hand.
//     (TestAnEventIsToldWhenItsLastByteIsThere,
//     TestItemsAreHandedOverBeforeTheListHasArrived)
//  7. One bad object is one *ScanError, with as much of its key as could be
//     read. It spoils neither a list nor a stream, and it is never passed over
//     in silence. (TestABadItemDoesNotSpoilTheList,
//     TestABadObjectIsToldAndTheStreamGoesOn)
//  8. Hostile input costs memory in proportion to its length, at most MaxFrame,
//     and no deep stack. It never panics. (FuzzEvents, FuzzList,
//     TestNestingBeyondTheBoundIsRefused,
//     TestALongFrameIsReadAndATooLongOneIsNot)
//  9. A resourceVersion is compared as KEP-5504 says, and never read as an
//     int64. (TestResourceVersionsCompareAsNumbersOfAnyLength)
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
// JSON is read. Protobuf has its place in every signature and is refused with
// ErrFormat until it is read as well.
package wire
