// Package taskrun executes TaskRuns: it makes one pod for each attempt of a run,
// and tells in the run's status what becomes of it.
//
//	caches ──TaskRun, Task, Pod…──▶ observe ──▶ plan ──▶ act ──▶ API server
//	                                  ▲         pure      │        create claims and pod, patch status, delete pod
//	                                  │          ▲        │
//	  registry, log ◀──look up, read──┼──────────┘        └──resource versions──▶ reconcile.Gate
//	     API server ◀──GET────────────┘  in doubt, and for secrets
//
// observe collects what is known, plan decides what to do about it, act does it.
// All of the deciding is in plan, which is a function: of the observation, the
// time and the configuration. It prints itself, and the stories in testdata are
// its specification: each is a TaskRun, what happened then, and what was done
// about it.
//
// # What it promises
//
//  1. One pod for an attempt. Its name follows from the run, so the API server
//     refuses a second one; a pod is adopted if its controller has the run's UID,
//     and for no other reason. Another's pod of that name fails the run, unless it
//     is on its way out; then it is waited for.
//  2. What is run is written down before it is run. status.taskSpec, startTime
//     and podName are stored before the pod is created, so a crash between any
//     two calls is followed by the same pod of the same spec. A Task that is
//     edited or deleted in mid-run changes nothing.
//  3. Every call may be repeated. A write carries the resource version it is based
//     on, a deletion the UID, and the version where the pod goes before another attempt
//     for not having begun. After a write without an answer the next reconcile
//     reads from the server.
//  4. A run that has ended is not written again. What it leaves running is stopped.
//     Once its pod has ended, too, it is not even decoded; where the cache has no pod,
//     until it has.
//  5. A run fails for what its author can change: a wrong spec, one too large to
//     be stored, a failed step, an image that is not there. What an administrator
//     or time may change (quota, a webhook's refusal, a missing ServiceAccount, an
//     API server in trouble) is waited for, with the reason in the condition.
//     That a pod will not start is said of the server's pod, not of the cache's.
//  6. A pod that vanishes before its first step has begun is made again. After
//     that the run fails with PodDeleted, and nothing runs twice unasked.
//     With retries each attempt has its own pod, name, time and number, and all of
//     them run what was written down at first. A claim that was made for a workspace
//     is made once: after an attempt that has begun the next one has it or there is
//     none, and the run ends with WorkspaceClaimLost.
//  7. Text put in for $(...) is never looked at again: not here, not when the pod is
//     made of what was written down, and not by the entrypoint.
//  8. What is not served is refused by name, never passed over.
//  9. A one-step run costs four API calls, one more if it refers to a Task whose
//     labels it takes over, one for each claim it has made, and one for each secret
//     that its ServiceAccount lists: events, and trouble, aside.
//  10. What is in a secret is in no plan, log, event or status. A plan knows what a
//     secret is for; what is in it is read by the entrypoint, and by the look-up of
//     an image that it opens.
//
// Reasons, messages, labels, names, paths and the shape of the pod are Tekton's,
// since scripts, dashboards and tkn depend on them; where this package differs,
// the comment at the place says why.
//
// # What it does not promise
//
// That a pod is never replaced: in ModeAuto a pod that cannot mount the image of
// the entrypoint is deleted before any step has begun, and made again with an
// init container. That a status shows each state of each step: what happens
// between two looks is seen as one change. That no result is lost in a pod that a
// webhook has put containers into: the kubelet then keeps less of each message
// than the steps were told.
//
// # Goroutines
//
// None. Reconcile runs on the worker that calls it and returns when it is done;
// it waits for the API server and for registries, and for nothing else.
package taskrun
