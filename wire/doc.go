// Package wire turns what an API server sends into objects, without decoding
// them: bytes, and the few facts about them that routing needs.
//
//	              ┌──────────────────────── wire ────────────────────────┐
//	API server    │                       lent          owned            │
//	 list page ──▶│ Scanner.List   ─┐                                    │
//	              │                 ├─ one pass ─▶ *Object ─▶ Cut or Own │──▶ transform, fifo, indexer
//	 watch     ──▶│ Scanner.Events ─┘                           │        │
//	              │                                             ├▶ Facet │──▶ whoever wants to know no more
//	              │                              Decode[T] ◀────┤        │──▶ a reconciler, when it asks
//	              │                         Packer ⇄ *Packed ◀──┘        │──▶ indexer, of what nobody reads
//	              └──────────────────────────────────────────────────────┘
//
// The usual client decodes every object of every event into a Go struct, and
// keeps the struct. Most of them nobody ever reads: the next event replaces
// them, or the cache holds them until the end. So here an event costs one pass
// over its bytes, and decoding is left to whoever reads the object, if anybody
// does. Ten events for a key that no worker has reached yet cost one decode.
//
// That pass takes out name, namespace, UID, resourceVersion, generation,
// deletionTimestamp, labels and owners: enough to store an object, index it,
// and say whose business it is. An Object is these facts and the bytes. What
// more a resource's readers ask for again and again, such as whether a run has
// succeeded, they declare as a Facet, and the same pass takes it out.
//
// # Lent and owned
//
// What List and an EventReader hand out is lent: its bytes are still in the read
// buffer, and the next object will take their place. Nearly all that a relist
// brings is known already, and is dropped without a copy; what is kept loses
// some fields first, and is copied once, without them. Own and Cut make an
// object that is its own, which anybody may keep; key, UID and resourceVersion
// are so from the beginning. In the chain it is the FIFO that sees to this, so
// a transform deals with objects that are lent, and nobody behind it does.
//
// Who forgets it has the next object under the name of the last. That is found
// with the race detector, whose builds overwrite what was lent when its time is
// over.
//
// # What it promises
//
//  1. For any input the scan and the ordinary decoder into
//     metav1.PartialObjectMetadata either both fail, or agree on every fact. The
//     two exceptions are ErrMapEntry and ErrManyOwners.
//     (FuzzScan, TestScanSeesWhatTheOrdinaryDecoderSeesInRandomObjects,
//     FuzzScanProtobuf, TestScanSeesWhatTheOrdinaryDecoderSeesInRandomMessages)
//  2. An owned Object never changes and holds nothing of the buffer that it was
//     read from; what equal objects have in common they share.
//     (TestAnObjectKeepsNothingOfTheBufferItWasReadFrom,
//     TestObjectsOfOneScannerShareTheirStrings,
//     TestObjectsWithTheSameFacetsShareThem)
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
//     TestABrokenFrameTakesNoOtherWithIt,
//     TestABadProtobufFrameIsToldAndTheStreamGoesOn)
//     So is one of another kind than a Scanner was told to expect.
//     (TestAnObjectOfAnotherKindIsNone)
//  8. Hostile input costs memory in proportion to its length, at most MaxFrame,
//     and no deep stack. It never panics. (FuzzEvents, FuzzList,
//     FuzzProtobufEvents, FuzzProtobufList,
//     TestNestingBeyondTheBoundIsRefused,
//     TestALongFrameIsReadAndATooLongOneIsNot, TestAHugeLengthCostsNothing,
//     TestAHostileObjectIsHeldInProportionToItsBytes) What Size says is what an
//     object takes. (TestSizeIsTheMemoryThatAnObjectTakes,
//     TestSizeIsTheMemoryThatAPackedObjectTakes)
//  9. A resourceVersion is compared as KEP-5504 says, and never read as an
//     int64. (TestResourceVersionsCompareAsNumbersOfAnyLength)
//  10. What is known of an object, and what it decodes to, does not depend on
//     the format in which it came, nor on whether it came in a list or in a
//     watch. (TestAPodIsTheSameInBothFormats,
//     TestAProtobufObjectIsTheSameFromAListAndFromAWatch,
//     TestAFacetOfAPodIsTheSameInBothFormats)
//  11. A lent Object is the one that would have come alone, and what is made of it
//     is owned. An event that nobody keeps is not copied; one that is kept is
//     copied once, without what is cut. (TestALentObjectIsTheOneThatComesAlone,
//     TestWhatIsCutOutOfALentObjectIsItsOwn, TestOneCopyIsMadeOfAnEvent)
//  12. A Facet is what decoding and looking would find, or it says that it is not
//     known: of an object that came past its Scanner, where it has no room in the
//     1 KiB that an object has for them, and of one with more than a thousand
//     values. (FuzzFacets, FuzzProtobufFacets,
//     TestFacetsAreDecodeAndLookForRandomObjects,
//     TestTheListsOfAMessageThatComesTwiceAreOne, TestWhoseFacetsAreNotKnownIsTold,
//     TestWhatIsNotKnownInProtobufIsTold, TestNoMoreThanAKibibyteOfFacetsIsKnown)
//  13. What was packed comes back as it was, in every fact and every byte,
//     whatever dictionaries come after its own. (TestAPackedObjectComesBackAsItWas,
//     TestRandomObjectsComeBackAsTheyWere,
//     TestObjectsOfAnOldDictionaryStayReadable,
//     TestFacetsAreAtHandWhileAnObjectIsPacked)
//
// It does not promise that bytes are what a type expects: an object that scans
// may still not decode. Nor does it say that a Cut is harmless: whoever reads a
// field that was cut reads nothing, and is not warned. See package transform.
//
// # Goroutines and locks
//
// None is started here. An owned Object may be shared by any number of
// goroutines, a Scanner too; an EventReader belongs to one, and so does what it
// lends. A Scanner has one lock, around its table of shared strings, held for as
// long as an object's strings are looked up in it.
//
// # What goes wrong
//
// A server that sends what is no object: a *ScanError, and the stream goes on
// (7). A stream that breaks off: io.ErrUnexpectedEOF, never a shorter object. An
// object that its reader's type does not fit: a *DecodeError, for that reader. A
// frame beyond MaxFrame: ErrTooLarge, and the stream is of no use any more.
//
// # How client-go does it
//
// It reads a list whole, decodes it whole, and copies it twice on the way to its
// store; one object of a list keeps the memory of all (issue 113305 of
// kubernetes). A watch event is decoded twice, once to find its object. What is
// not wanted can be dropped in a transform, after all of it was decoded. An
// event whose object cannot be decoded is logged and passed over while the
// resourceVersion moves on (issue 76624).
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
