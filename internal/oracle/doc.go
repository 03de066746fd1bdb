// Package oracle asks client-go what is right. It holds no code of the product:
// it is tests, in which client-go's informer and ours, and client-go's queue and
// ours, live through the same and are compared.
//
//	                    ┌─ server ─▶ client-go: Reflector ▶ RealFIFO ▶ Indexer ▶ handler ─┐
//	script (a seed) ──▶ │                                                                 ├─▶ equal?
//	                    └─ server ─▶ ours:      reflector ▶ fifo ▶ indexer ▶ handler ─────┘
//
//	operations (rapid) ──▶ client-go's workqueue │ ours ──▶ the same keys at the same times?
//
// An opinion about what an informer does can be wrong in the code and in its
// tests at the same time. Millions of controllers run on what client-go does, so
// where the two differ, one of them has a bug, or there is a reason to write
// down.
//
// A script is a list of steps: objects are made, changed, deleted, made anew
// under their names, cannot be read, or are refused by a transform; watches end
// in good order, within an event, with a 410; the server goes away and comes back
// with or without its history; lists come in pages whose continuations expire, or
// as streams, which may end too early. Each side has a server of its own, which
// plays the script, and talks to it with client-go's REST client over HTTP in
// memory. All of it runs in a bubble of testing/synctest, so a quarter of an hour
// of outages takes milliseconds. A seed makes a script, and a script that fails
// is made shorter, step by step, while it still fails.
//
// What the server has is drawn too: objects whose fields are any JSON, which both
// sides decode into maps; pods as protobuf, which both decode into corev1.Pod;
// pods of a server that has no protobuf, though it is asked for it. Or it is what
// a kube-apiserver has said of real TaskRuns and their pods: bench/objects has
// the recording, and these servers repeat it byte for byte. And the seed says
// whether ours packs what nobody reads, and takes facets out: neither may show.
//
// # What must be equal
//
//  1. The cache, whenever things have settled: the keys, and of each object its
//     UID, its resourceVersion, every field as it is decoded after the same
//     transform, what facets are worth, and what two indices find. And ours has
//     what the server has. (TestAnyStoryLeavesTheSameCache)
//  2. The last event about each key since things had settled before: added,
//     updated or deleted, which object, which version of it, and whether its
//     final state was seen. (TestAnyStoryLeavesTheSameCache)
//  3. Both of recorded traffic, and the traffic is as it was recorded.
//     (TestRecordedTrafficLeavesTheSameCache,
//     TestTheServerSpellsWhatWasRecordedAsItWasRecorded)
//  4. A resync shows every object once more, on both sides.
//     (TestAResyncShowsEveryObjectOnBothSides)
//  5. Where the server does as it likes all the time, each side in its own
//     moment, the caches once it has come to its senses.
//     (TestAServerThatNeverSettlesLeavesTheSameCacheInTheEnd)
//  6. Which keys a queue hands out, in which order, and when.
//     (TestAnyOperationsHandOutTheSameKeysAtTheSameTimes)
//
// # Where we differ on purpose
//
// Each exception is a constant in exceptions_test.go or queue_exceptions_test.go,
// with its reason, applied as narrowly as can be said in code. Each has a story
// that is not equal without it; one that needs no exception any more has to go.
// (TestEveryExceptionIsNeeded, TestEveryQueueExceptionIsNeeded)
//
// How often a server is asked is not compared, but where it matters most: a
// stream of a list that closes before its end is a hot loop to client-go (issue
// 140890 of kubernetes), and three requests to ours.
// (TestAStreamThatClosesEarlyIsALoopToClientGoAndNotToUs) If such streams never
// end, client-go never has a cache, and ours is compared with the server alone.
// (TestAStreamThatNeverEndsLeavesUsWithWhatTheServerHas)
//
// # What is not asked
//
// Of the queue, what client-go's has no word for: urgent keys, lanes, namespaces,
// causes, releases; those have a model of their own, in workqueue.
//
// This is the one place of the project that may import client-go's tools/cache
// and util/workqueue; internal/lint sees to that.
package oracle
