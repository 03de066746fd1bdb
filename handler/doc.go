// Package handler turns changes of a cache into keys of a queue, and says with
// each key why it is there.
//
//	indexer(pods) ──Change──▶ handler ──TaskRun's key + cause──▶ workqueue(taskruns)
//	                             │
//	                             └ which key, which lane, what reason
//
// The key is all that travels: a reconcile reads the objects when it runs, so
// ten changes before that are one reconcile of the newest state. What is lost
// on the way is the reason, and the Cause brings that: which resource, what
// happened to it, from which resourceVersion to which.
//
// What it promises:
//
//  1. A handler only enqueues. It does not decode, wait or fail, and allocates
//     nothing. (TestHandlersAllocateNothing)
//  2. Objects of the first list and of resyncs go to the low lane: nothing has
//     happened to them, so they must not stand before those to whom something
//     has. (TestEnqueueChoosesTheLane)
//  3. Enqueue marks as urgent what makes an old failure void: an object that
//     was deleted, marked for deletion, or whose generation moved. Such a key
//     runs even while it backs off, and before those of its namespace that have
//     only been made. For a created object the queue is told to forget the
//     failures of the one that had its name before.
//     (TestEnqueueChoosesTheLane, TestRecreatedObjectStartsClean,
//     TestUrgentNewsOfTheObject)
//  4. EnqueueOwner and EnqueueMapped mark nothing as urgent by themselves. Most
//     changes of a child are made by its owner's reconcile, and a failing key
//     whose own writes end its backoff is a hot loop. The wiring names the
//     news that a reconcile cannot make itself, such as a pod that has ended.
//     (TestUrgentNewsOfAChild, TestEnqueueMapped)
//  5. EnqueueOwner finds every owner of a kind, not the first one only, by API
//     group and kind: a TaskRun of another group is none of ours, and one of
//     another version is. An owner that a child has lost hears of it too.
//     (TestEnqueueOwnerFindsEveryOwnerOfTheKind,
//     TestEnqueueOwnerTellsOldAndNewOwner)
//  6. Whatever of Old and New is missing, nothing panics and the object's own key is
//     told. (TestNothingIsMissedWhereAnObjectIsMissing)
//  7. With WhenElse it is known for which keys a predicate has dropped a change, and
//     where. (TestWhatAPredicateDropsIsToldForTheKeysThatItWouldHaveWoken)
//  8. A cause says when its event reached the process, so that the way of an event
//     can be measured from end to end. (TestACauseSaysWhenItsEventReachedTheProcess)
//
// It does not promise that each change is a run: the queue merges what asks for one
// key. Nor does it know whether a key still exists.
//
// # Goroutines and locks
//
// None of either. A handler runs in the goroutine of Indexer.Run, after the store holds
// the change and with no lock held, and takes the queue's lock for as long as an Add
// takes. Two indexers may call two handlers of one queue at once.
//
// # How controller-runtime does it
//
// EnqueueRequestForObject, EnqueueRequestForOwner and EnqueueRequestsFromMapFunc are the
// same three, behind an informer's handler, which has two goroutines and a buffer of its
// own. A deletion that nobody saw, of an object that the store had none of, is dropped.
// What Owns sets up tells the owner with controller: true alone. What brought a key is
// not kept.
package handler
