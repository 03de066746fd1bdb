// Package webhook answers the API server's questions about our kinds: what their
// defaults are, whether they are in order, and what they look like in another version.
//
//	kubectl ──▶ API server ──/default───AdmissionReview──▶ ┌─────────┐ ──▶ crds/defaulting
//	               │   ▲   ──/validate──AdmissionReview──▶ │ webhook │ ──▶ crds/validation
//	               │   └──── allowed? patch, warnings ──── │         │
//	               └───────────/convert──ConversionReview─▶ └─────────┘ ──▶ crds/conversion
//	                                                            │ TLS
//	                                                   webhook/certificate
//
// What it decides itself is little: the packages on the right hold the rules, and are
// pure functions; a controller asks them again, since an object may have come around
// the webhook. Here is what the API server may send, and what it gets:
//
//  1. Every well-formed review is answered with its uid, and HTTP 200. What is no
//     review is answered with a Status and 400, 413 (see Config.Limit), 415 or 405.
//     (TestWhatIsNoReviewIsAnsweredWithAStatus)
//  2. A panic, of a rule say, is a 500 for that request; the next is served.
//     (TestAPanicIsTheAnswerToOneRequest)
//  3. What is refused for its contents has reason Invalid, code 422, and in
//     details.causes each field with what is wrong. (TestARefusalNamesItsFields)
//  4. A patch has only what the defaulting changes: fields that the types do not know
//     are left alone, and without a change there is no patch.
//     (TestAPatchChangesWhatDefaultsChangeAndNothingElse)
//  5. What is being deleted, and every subresource, passes. So does an update that
//     leaves the spec as it is: labels and finalizers can be changed whatever the rules
//     have come to say about the rest. (TestAnUpdateMayKeepWhatWasWrong)
//  6. A warning is shorter than 256 characters, which is what API servers show.
//  7. A conversion keeps the order of objects, and fails as a whole if one of them
//     cannot be converted, as the API demands.
//  8. Nobody waits for one who sends slowly. (TestWhoSendsSlowlyKeepsNobodyWaiting) There
//     are a thousand connections at most. (TestACrowdWaitsOutside)
//  9. An object takes memory as what it means does, and no more because it was made for
//     that: one of more than 50 000 values is refused before it is decoded, and a
//     conversion makes no more bytes than it may be asked with.
//     (TestAMillionEmptyStepsTakeNoMemory, TestAPageOfBombsIsNotConverted)
//  10. A run is not created with the annotations by which Tekton's Chains and Results say
//     that they are done with it. (TestARunIsNotCreatedSigned)
//
// Answers depend on the request and on the Options of the moment alone: a dry run is
// like any other.
//
// # Goroutines
//
// Serve has those of net/http, and returns when they have; the rest has none.
package webhook
