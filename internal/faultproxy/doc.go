// Package faultproxy stands between a process and a real API server, and has go
// wrong what a plan says.
//
//	            TLS, HTTP/2                             TLS, HTTP/2
//	process ───────────────▶ door ─▶ serve ─▶ ReverseProxy ─────────▶ API server
//	   ▲                      │        │ ▲          │
//	   └──────signal──────────┼────────┘ └─ stream ─┘   the events of a watch
//	                          │        │
//	      Shut Reset Silence ─┘        └──▶ Exchange: what was asked, and what came of it
//
// A [Fault] is which requests, or which events of watches, and what befalls them;
// what that can be is said in the words of package simulation/apiserver, which is
// the model of the same server. So a plan of the simulation is one here, too: see
// [Faults].
//
// # What it promises
//
//  1. What no fault is meant for passes as it is, as soon as it comes. Streams are
//     asked for uncompressed, since they are looked into. (TestWhatIsNotMeantPasses,
//     TestEventsPassWhenTheyCome)
//  2. A fault befalls the requests that it is meant for, of those the ones that its
//     bounds name, and no others. (TestTheNthOfThoseThatAreMeant)
//  3. Nothing is refused or lost before the server acts that the server hears of;
//     what is lost after it acted, the server has done. (TestBeforeAndAfter)
//  4. A process that is killed at a write is told nothing more, and the write is
//     done or not as the plan says. (TestKilledAtAWrite)
//  5. A stream ends as the plan says: in good order, within an event, with its
//     connection, with 410, or not at all. (TestEndingsOfAStream)
//  6. An event can be told twice, after its successor, or not at all; the order of
//     the others stays. (TestEventsThatAreNotTold)
//  7. Connections can be refused, reset, and silent, and be well again at the same
//     address. (TestDoor)
//  8. Every exchange is on record, from the moment that it comes in, with the code
//     that the server gave, whoever heard of it. (TestExchanges)
//
// # Goroutines
//
// Run serves until its ctx ends, and waits for its handlers. A stream has one that
// reads ahead; whoever closes the stream waits for it.
package faultproxy
