// Package dialogue keeps the model API server honest: scripts of what a client may
// ask, each exchange with the answer that a real server gave.
//
//	testdata/*.txt ──▶ Parse ──▶ Script ──▶ Server.Play ──▶ answers, masked ──▶ compared
//	      ▲                                   │      │                        │
//	      │                        model, in a     kube-apiserver             │
//	      │                        bubble          of devcluster              │
//	      └────────────────── make dialogue UPDATE=1 ◀────────────────────────┘
//
// A script is read by people first. An exchange is a title, a request, and the
// answer:
//
//	## With the version of before: a conflict.
//	PUT taskruns/a
//	{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: a, resourceVersion: "${made.metadata.resourceVersion}"}}
//	→ 409 application/json
//	apiVersion: v1
//	...
//
// A path that does not begin at the root is one below the script's namespace. A
// request that goes on "as made" has a name, by which later ones speak of its
// answer; "take 3" closes a watch after three events; "until 404" asks again until
// that is the status. Lines of the header stand between the request and its body.
// COMPACT is no request: the server is made to forget its first version.
//
// # What it promises
//
//  1. Everything of an answer is compared that is not drawn by the server or told
//     by its clock: status, encoding, the header's warnings, the whole body
//     (TestTheModelAnswersAsTheServerDid). How often a watch says the same bookmark
//     is told by the clock (TestABookmarkThatIsSaidTwiceIsOne).
//  2. What is drawn has a name in its place. Equal names are equal UIDs, and
//     resource versions keep their order: v3 comes before v4, and v3+ is a list or a
//     bookmark that has seen v3, and not v4
//     (TestWhatIsDrawnKeepsItsEqualityAndItsOrder).
//  3. Where the model answers otherwise, the exchange says so, and why ("differs:").
//     An allowance that is needed no more fails the test, as a difference does
//     (TestAnAllowanceIsForADifference).
//  4. One kind of difference is allowed everywhere: managedFields, which the model
//     does not keep.
package dialogue
