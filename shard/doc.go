// Package shard lets several replicas share the work by namespace, so that each has a
// part of it in its caches and no two ever work on the same.
//
//	namespace ──FNV-1a──▶ 0x0000…                                            …ffff
//	division             ├── millrace-shard-1 ──┼─ millrace-shard-0 ─┼─ millrace-shard-3 ─┤
//	                                 ▲ boundaries where the weights are equal
//	replica ──holds──▶ Lease millrace-shard-0: its claim, and what its share weighs
//	        ◀──reads── Lease millrace-shards:  the division, and who made it
//
//	await: look ─▶ claim ─▶ look: is it the only claim? ─▶ work ─▶ follow: is it still ours?
//	  ▲                                                                      │ no
//	  └────────────────── claim taken back ◀── work has returned ◀───────────┘
//
// Each replica holds the Lease of one shard, whichever it gets; those for whom there is
// none left stand by. One of them, the holder of the shard with the lowest number,
// divides: everybody gets one range of the hashes. It divides anew when a replica has
// come or gone, or when one share has become much heavier than the others.
//
// What it promises:
//
//  1. Work on a range begins only after a list of all Leases has shown this replica's
//     claim to it, on the Lease that it holds, and no other claim on a part of it; the
//     claim stands until the work has returned (TestWhatWasToBeGivenUpIsClaimedAnew,
//     TestAClaimIsOursOnlyOnALeaseThatWeHold). Of two replicas whose claims overlap the
//     later one sees the earlier, so no two are ever at work on one namespace, whatever
//     division each of them has seen (main.TestNoTwoReplicasAreEverInsideOneShare). Nor is
//     one beside who leads, and works on everything, if that waits for Leader.AwaitUnclaimed
//     (main.TestNobodyIsEverInsideAShareWhileOneLeads).
//  2. A replica that cannot renew its Lease has to stop before others may take it for
//     gone: who runs a Member sees to that (main.TestAReplicaThatIsCutOffStopsBeforeAnotherTakesItsShare).
//     Others count from when they have seen its last change, by their own clocks.
//  3. Each namespace is in the share of exactly one shard, and that has a holder
//     (TestEveryNamespaceIsInOneShareOfAShardThatIsThere).
//  4. No share is heavier than the mean by more than a cell, which is a namespace or
//     1/128 of a share (TestNoShareIsHeavierThanTheMeanByMoreThanACell).
//  5. Where a replica takes another's place within Settle, nobody else notices
//     (main.TestWhoStandsByTakesTheShareOfOneThatLeaves).
//
// The ranges are not equal parts: FNV-1a mixes so little that two hundred namespaces
// with numbers at their ends are all in one sixteenth of the hashes
// (TestNamesThatAreCountedStandCloseTogether).
//
// Who deletes the Leases by hand while replicas are at work takes the claims away with
// them, and with them the promise, until each has looked again: then its work ends
// (TestWorkEndsWhenItsClaimIsNotThereAnyMore).
//
// Goroutines: Member.Run blocks, and has one more for as long as work works. Leases is
// for the elector's goroutine and the Member's; whoever writes waits for the other's
// answer. Nothing is started by a constructor.
package shard
