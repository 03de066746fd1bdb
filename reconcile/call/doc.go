// Package call makes the API calls that reconcilers have in common, and tells what
// their answers mean.
//
//	reconcile/taskrun, reconcile/pipelinerun ──Get, Patch──▶ call ──▶ rest.Interface ──▶ API server
//	                                         ◀──InDoubt, Unstorable, IsAnswer──┘
//
// What it promises:
//
//  1. One call is one request. It is not tried again here, whatever the server's
//     Retry-After says: that would hold up a worker, and the queue knows how to wait.
//  2. Every error is of one of three sorts: the server has judged the request, and
//     would judge the same one so again (IsAnswer); nobody knows whether the write
//     was done (InDoubt); or it was not done and may be later.
//  3. A status is patched with what has changed of it, on the version that it was
//     read in: fields that this program does not know survive, and a write that is
//     based on a stale view is refused (StatusPatch). What has been put behind a list is
//     sent alone (StatusAppend).
//  4. An object that is there and does not decode is told from trouble (UnreadableError).
//  5. Both reconcilers go on after a failed write, give up, and tell people, by the same
//     rules (Stopped, Judged, Event, TestHowAReconcileEndsAfterAFailedWrite).
//  6. A run that the server has no more is not worked at on the word of a cache that is
//     behind (Absent, TestARunThatIsGoneIsLeftAloneForAWhile).
//
// There is no goroutine here, and no state but Absent's.
package call
