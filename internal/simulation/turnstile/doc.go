// Package turnstile lets what happens at once in a simulation happen one after
// the other, in an order that a seed decides.
//
//	     kubelet ─┐                          ┌─▶ goroutine of the agenda: one thing at a time
//	       users ─┼──▶ Agenda ──time order──┤
//	 disruptions ─┘                          └─▶ …
//	server ──▶ Seed.Between(words…) ──▶ how long this request, this event takes
//
// A bubble of testing/synctest has a clock that is exact: what is due at one
// instant is due at the same nanosecond, and then the scheduler of the runtime
// decides who is first, differently each time. So nothing in a simulation is
// ever due at a round time. Each request, each event and each step of an actor
// waits for a time that is drawn for it from the seed and from words that name
// it, and for nothing else.
//
// # What it promises
//
//  1. The same seed and the same words always give the same draw; draws for
//     other words do not depend on it. So a fault can be taken out of a plan and
//     the other faults stay as they were.
//  2. An Agenda does what it was given in the order of the times, of equal times
//     in the order in which it was given, one after the other, in the goroutine
//     that called Run.
//  3. Run returns when its ctx has ended and the thing in hand is done; what was
//     not due by then is never done.
package turnstile
