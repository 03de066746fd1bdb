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
// under their names; watches end in good order, within an event, with a 410;
// the server goes away and comes back with or without its history; lists come in
// pages whose continuations expire, or as streams. Each side has a server of its
// own, which plays the script, and talks to it with client-go's REST client over
// HTTP in memory. All of it runs in a bubble of testing/synctest, so a quarter of
// an hour of outages takes milliseconds. A seed makes a script, and a script that
// fails is made shorter, step by step, while it still fails.
//
// # What must be equal
//
//  1. The cache, whenever things have settled: the keys, and of each object its
//     UID, its resourceVersion, every field as it is decoded after the same
//     transform, and what an index finds. (TestAnyStoryLeavesTheSameCache)
//  2. The last event about each key since things had settled before: added,
//     updated or deleted, which object, which version of it, and whether its
//     final state was seen. (TestAnyStoryLeavesTheSameCache)
//  3. A resync shows every object once more, on both sides.
//     (TestAResyncShowsEveryObjectOnBothSides)
//  4. Where the server does as it likes all the time, each side in its own
//     moment, the caches once it has come to its senses.
//     (TestAServerThatNeverSettlesLeavesTheSameCacheInTheEnd)
//  5. Which keys a queue hands out, in which order, and when.
//     (TestAnyOperationsHandOutTheSameKeysAtTheSameTimes)
//
// # Where we differ on purpose
//
// Each exception is a constant in exceptions_test.go or queue_exceptions_test.go,
// with its reason, applied as narrowly as can be said in code. Each has a story
// that is not equal without it; one that needs no exception any more has to go.
// (TestEveryExceptionIsNeeded, TestEveryQueueExceptionIsNeeded)
//
// # What is not asked
//
// Not in a script: a watch-list that ends before its bookmark. client-go asks
// again at once, for ever (issue 140890 of kubernetes), and in a bubble, where an
// endless loop takes no time, for ever is for ever. Nor objects that cannot be
// read, of which client-go forgets the event and we do not (see reflector). Nor,
// of the queue, what client-go's has no word for: urgent keys, lanes, namespaces,
// causes; those have a model of their own, in workqueue.
//
// This is the one place of the project that may import client-go's tools/cache
// and util/workqueue; internal/lint sees to that.
package oracle
